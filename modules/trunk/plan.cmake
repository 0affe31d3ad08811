# The rest of the trunk: its blocks are written here next, and each then moves to CMakeLists.txt with its library and its case.
# Nothing of it needs atoms: the trunk takes the input embedding as given.
set(masked feature.token_pad_mask)

# Compositions: their own concern is the seams.
cpize_port(recycling  SUBSYSTEM trunk  ROLE composition  KIND adapt  EFFORT 4
           DEPENDS pair_initialisation relative_position token_bonds contact_conditioning input_conditioning template_module msa_module
                   pairformer_stack
           RISK medium "gradients only in the last pass"  CITES "AlphaFold 3, Algorithm 1")
