# model/: the assembled model.
cpize_port(input_embedder  SUBSYSTEM model  ROLE composition  KIND adapt  EFFORT 2  DEPENDS input_conditioning atom_attention_encoder
           RISK low "the seam between atoms and tokens"  CITES "AlphaFold 3, Algorithm 2" "Boltz-2, trunkv2 InputEmbedder")
cpize_port(predicting_model  SUBSYSTEM model  ROLE composition  KIND adapt  EFFORT 4
           DEPENDS input_embedder recycling distogram bfactor diffusion_conditioning diffusion_sampler confidence_module
                   feature.template_restype feature.template_frame_rot feature.template_frame_t feature.template_ca
                   feature.template_cb feature.template_mask feature.template_mask_cb feature.template_mask_frame
           RISK medium "memory at the seams: what of the trunk must live while sampling"
           CITES "AlphaFold 3, Algorithm 1" "Boltz-2, boltz2 Boltz2.forward")
cpize_port(training_model  SUBSYSTEM model  SCOPE training  ROLE composition  KIND adapt  EFFORT 4
           DEPENDS predicting_model dropout activation_checkpointing diffusion_loss distogram_loss bfactor_loss confidence_loss
           RISK high "every parameter must be reached by exactly one reduction"  CITES "Boltz-2, boltz2 Boltz2.training_step")
