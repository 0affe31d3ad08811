# losses/: numerators and denominators are sums over the whole mesh, once; a rank's share of the loss is its own terms.
set(target SUBSYSTEM losses SCOPE training)

cpize_port(diffusion_mse_loss  ${target}  KIND adapt  EFFORT 2
           DEPENDS weighted_rigid_align feature.coords feature.atom_resolved_mask feature.mol_type
           CITES "Boltz-2, diffusionv2 AtomDiffusion.compute_loss")
cpize_port(smooth_lddt_loss  ${target}  KIND new  EFFORT 4  DEPENDS feature.coords feature.atom_resolved_mask feature.mol_type
           RISK medium "pairs of atoms: tiles, never A x A, the gradient of both ends of a pair"  CITES "AlphaFold 3, Algorithm 27")
cpize_port(diffusion_loss  ${target}  ROLE composition  KIND adapt  EFFORT 1
           DEPENDS training_denoise diffusion_mse_loss smooth_lddt_loss feature.plddt  CITES "Boltz-2, diffusionv2 AtomDiffusion.compute_loss")
cpize_port(distogram_loss  ${target}  KIND adapt  EFFORT 2  DEPENDS distogram feature.disto_target feature.token_disto_mask
           CITES "Boltz-2, distogramv2 distogram_loss")
cpize_port(bfactor_loss  ${target}  KIND reuse  EFFORT 1  DEPENDS bfactor feature.bfactor feature.token_to_rep_atom
           CITES "Boltz-2, bfactor bfactor_loss_fn")
cpize_port(symmetry_correction  ${target}  KIND adapt  EFFORT 6  DEPENDS feature.symmetries feature.coords feature.atom_resolved_mask
           RISK high "a greedy search whose choices must be one decision of all ranks"  CITES "Boltz-2, minimum_lddt_symmetry_coords")
cpize_port(plddt_loss  ${target}  KIND adapt  EFFORT 3
           DEPENDS confidence_heads symmetry_correction feature.r_set_to_rep_atom feature.token_to_rep_atom feature.mol_type
           RISK medium "tokens against the resolved set: two axes of unequal length"  CITES "Boltz-2, confidencev2 plddt_loss")
cpize_port(pde_loss  ${target}  KIND adapt  EFFORT 2  DEPENDS confidence_heads symmetry_correction feature.token_to_rep_atom
           CITES "Boltz-2, confidencev2 pde_loss")
cpize_port(pae_loss  ${target}  KIND adapt  EFFORT 4  DEPENDS confidence_heads confidence_frames symmetry_correction feature.frame_resolved_mask
           RISK medium "frames of row tokens against atoms of column tokens"
           CITES "AlphaFold 3, Algorithms 29 and 30" "Boltz-2, confidencev2 pae_loss")
cpize_port(resolved_loss  ${target}  KIND reuse  EFFORT 1  DEPENDS confidence_heads feature.atom_resolved_mask
           CITES "Boltz-2, confidencev2 resolved_loss")
cpize_port(confidence_loss  ${target}  ROLE composition  KIND reuse  EFFORT 1
           DEPENDS confidence_module plddt_loss pde_loss pae_loss resolved_loss  CITES "Boltz-2, confidencev2 confidence_loss")
cpize_port(validation_metrics  ${target}  KIND adapt  EFFORT 4  DEPENDS symmetry_correction confidence_module feature.mol_type
           RISK medium "sums over samples of unequal kinds: the same keys on every rank"
           CITES "Boltz-2, validation factored_lddt_loss, weighted_minimum_rmsd and compute_plddt_mae")
