# The rest of the trunk: its blocks are written here next, and each then moves to CMakeLists.txt with its library and its case.
# Nothing of it needs atoms: the trunk takes the input embedding as given.
set(masked feature.token_pad_mask)

# Compositions: their own concern is the seams.
cpize_port(template_module  SUBSYSTEM trunk  ROLE composition  KIND new  EFFORT 5
           DEPENDS pairformer_noseq_stack feature.asym_id feature.template_restype feature.template_frame_rot feature.template_frame_t
                   feature.template_ca feature.template_cb feature.template_mask feature.template_mask_cb feature.template_mask_frame
           RISK medium "published context parallelism leaves it out: no example to follow"
           CITES "AlphaFold 3, Algorithm 16" "Boltz-2, trunkv2 TemplateModule")
cpize_port(recycling  SUBSYSTEM trunk  ROLE composition  KIND adapt  EFFORT 4
           DEPENDS pair_initialisation relative_position token_bonds contact_conditioning input_conditioning template_module msa_module
                   pairformer_stack
           RISK medium "gradients only in the last pass"  CITES "AlphaFold 3, Algorithm 1")
