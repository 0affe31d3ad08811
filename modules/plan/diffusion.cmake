# diffusion/: conditioning once a batch, the score model, and the sampler around it.
cpize_port(pairwise_conditioning  SUBSYSTEM diffusion  KIND reuse  EFFORT 1  DEPENDS relative_position transition
           CITES "AlphaFold 3, Algorithm 21" "Boltz-2, encodersv2 PairwiseConditioning")
cpize_port(single_conditioning  SUBSYSTEM diffusion  KIND reuse  EFFORT 1  DEPENDS fourier_embedding transition
           CITES "AlphaFold 3, Algorithm 21" "Boltz-2, encodersv2 SingleConditioning")
cpize_port(diffusion_conditioning  SUBSYSTEM diffusion  ROLE composition  KIND adapt  EFFORT 3
           DEPENDS pairwise_conditioning atom_encoder
           RISK medium "384 channels of bias for all 24 layers: the largest tensor of the diffusion module"
           CITES "AlphaFold 3, Algorithm 21" "Boltz-2, diffusion_conditioning DiffusionConditioning")
cpize_port(diffusion_transformer_layer  SUBSYSTEM diffusion  ROLE composition  KIND adapt  EFFORT 3
           DEPENDS attention_pair_bias_copies adaln conditioned_transition
           RISK medium "multiplicity: (batch, sample) is one axis, split in that order"  CITES "AlphaFold 3, Algorithm 23")
cpize_port(diffusion_transformer  SUBSYSTEM diffusion  ROLE composition  KIND adapt  EFFORT 2
           DEPENDS diffusion_transformer_layer
           RISK medium "biases in their own dtype, a layer's slice without a copy"  CITES "AlphaFold 3, Algorithm 23")
cpize_port(diffusion_module  SUBSYSTEM diffusion  ROLE composition  KIND adapt  EFFORT 3
           DEPENDS single_conditioning diffusion_conditioning diffusion_transformer atom_attention_encoder atom_attention_decoder
           RISK medium "seams between atoms and tokens at every denoising step"
           CITES "AlphaFold 3, Algorithm 20" "Boltz-2, diffusionv2 DiffusionModule")
cpize_port(preconditioning  SUBSYSTEM diffusion  KIND reuse  EFFORT 1  CITES "Karras et al. 2022, table 1" "Boltz-2, diffusionv2 AtomDiffusion")
cpize_port(centre_random_augmentation  SUBSYSTEM diffusion  KIND adapt  EFFORT 2  DEPENDS philox feature.atom_pad_mask
           RISK medium "one draw for all ranks of a sample, centres over the whole mesh"  CITES "AlphaFold 3, Algorithm 19")
cpize_port(weighted_rigid_align  SUBSYSTEM diffusion  KIND new  EFFORT 3  DEPENDS feature.atom_pad_mask
           RISK medium "16 fp64 moments in one sum, one SVD, the same bits on every rank"  CITES "AlphaFold 3, Algorithm 28")
cpize_port(diffusion_sampler  SUBSYSTEM diffusion  ROLE composition  KIND adapt  EFFORT 5
           DEPENDS diffusion_module preconditioning centre_random_augmentation weighted_rigid_align
           RISK high "200 steps: a difference in one draw is another structure"
           CITES "AlphaFold 3, Algorithm 18" "Boltz-2, diffusionv2 AtomDiffusion.sample")
cpize_port(training_denoise  SUBSYSTEM diffusion  SCOPE training  ROLE composition  KIND adapt  EFFORT 3
           DEPENDS diffusion_module preconditioning centre_random_augmentation feature.coords
           RISK medium "noise levels drawn for each copy, the same on all ranks"  CITES "Boltz-2, diffusionv2 AtomDiffusion.forward")
cpize_port(steering  SUBSYSTEM diffusion  SCOPE inference  KIND new  EFFORT 12  DEPENDS diffusion_sampler
           RISK high "resampling is a decision of all ranks, published context parallelism leaves it out"
           CITES "Boltz-2, potentials and Feynman-Kac steering")
