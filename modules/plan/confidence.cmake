# confidence/: how good a prediction is, from detached trunk tensors and predicted coordinates; and the affinity head.
cpize_port(confidence_inputs  SUBSYSTEM confidence  KIND adapt  EFFORT 3
           DEPENDS relative_position token_bonds contact_conditioning feature.token_to_rep_atom
           RISK medium "distances of representative atoms between ranks of a row and of a column"
           CITES "AlphaFold 3, Algorithm 31" "Boltz-2, confidencev2 ConfidenceModule")
cpize_port(confidence_heads  SUBSYSTEM confidence  KIND reuse  EFFORT 2  DEPENDS feature.asym_id feature.token_pad_mask
           RISK low "separate heads inside a chain and between chains"  CITES "Boltz-2, confidencev2 ConfidenceHeads")
cpize_port(confidence_frames  SUBSYSTEM confidence  KIND new  EFFORT 4
           DEPENDS feature.frames_idx feature.atom_to_token feature.mol_type feature.asym_id
           RISK high "ligand frames need a ligand's coordinates, and only those"  CITES "Boltz-2, confidence_utils compute_frame_pred")
cpize_port(confidence_scores  SUBSYSTEM confidence  KIND adapt  EFFORT 4  DEPENDS confidence_frames feature.mol_type feature.asym_id
           RISK medium "maxima and sums over the mesh, keys of chain pairs differ between samples"
           CITES "Boltz-2, confidence_utils compute_ptms and compute_aggregated_metric")
cpize_port(confidence_module  SUBSYSTEM confidence  ROLE composition  KIND adapt  EFFORT 3
           DEPENDS confidence_inputs pairformer_stack confidence_heads confidence_scores diffusion_sampler distogram
           RISK medium "one sample after another, or all at once"  CITES "AlphaFold 3, Algorithm 31")
cpize_port(affinity_heads  SUBSYSTEM confidence  SCOPE inference  KIND adapt  EFFORT 2  DEPENDS feature.affinity_token_mask feature.mol_type
           RISK low "pooled over receptor and ligand pairs: sums over the mesh"  CITES "Boltz-2, affinity AffinityHeadsTransformer")
cpize_port(affinity_module  SUBSYSTEM confidence  SCOPE inference  ROLE composition  KIND adapt  EFFORT 3
           DEPENDS affinity_heads pairwise_conditioning pairformer_noseq_stack confidence_module
           RISK medium "published context parallelism leaves it out: no example to follow"  CITES "Boltz-2, affinity AffinityModule")
