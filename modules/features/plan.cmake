# Features of the whole model that are not distributed and proved yet. A task moves to parity/features/CMakeLists.txt, which
# measures it, when it is written. Left out, since no module of the planned model reads them: ref_chirality, atom_backbone_feat,
# temp_feature, ph_feature, disto_center, disto_coords_ensemble, token_resolved_mask. token_pair_pad_mask is the product of two
# token masks, and atom_counts_per_token is consumed by the distribution itself.

# Templates.
cpize_shard_feature(template_restype     KIND new    EFFORT 3  RISK medium "alignment of a template's residues to the query's tokens")
cpize_shard_feature(template_frame_rot   KIND new    EFFORT 2)
cpize_shard_feature(template_frame_t     KIND new    EFFORT 0.5)
cpize_shard_feature(template_ca          KIND new    EFFORT 0.5)
cpize_shard_feature(template_cb          KIND new    EFFORT 0.5)
cpize_shard_feature(template_mask        KIND adapt  EFFORT 0.5)
cpize_shard_feature(template_mask_cb     KIND adapt  EFFORT 0.5)
cpize_shard_feature(template_mask_frame  KIND adapt  EFFORT 0.5)

# Atoms: over the whole grid, packed; windows of 32 never cross a rank without a halo.
cpize_shard_feature(atom_to_token         KIND new    EFFORT 4  RISK high "atoms of one token on two ranks, boundary tokens are summed twice or not at all")
cpize_shard_feature(atom_pad_mask         KIND new    EFFORT 1  RISK medium "padding inside a shard, not only at its end")
cpize_shard_feature(ref_pos               KIND adapt  EFFORT 2  RISK medium "conformers are drawn and rotated: the draws must not depend on the mesh")
cpize_shard_feature(ref_charge            KIND adapt  EFFORT 0.5)
cpize_shard_feature(ref_element           KIND adapt  EFFORT 0.5)
cpize_shard_feature(ref_atom_name_chars   KIND adapt  EFFORT 0.5)
cpize_shard_feature(ref_space_uid         KIND adapt  EFFORT 0.5)
cpize_shard_feature(token_to_rep_atom     KIND new    EFFORT 2  RISK medium "global atom numbers, rewritten by padding and collation")
cpize_shard_feature(frames_idx            KIND new    EFFORT 2  RISK medium "global atom numbers, rewritten by padding and collation")
cpize_shard_feature(affinity_token_mask   KIND adapt  EFFORT 0.5  SCOPE inference)

# The ground truth of a training sample.
cpize_shard_feature(coords                SCOPE training  KIND adapt  EFFORT 2  RISK medium "ensembles: the leading dimension is no batch")
cpize_shard_feature(atom_resolved_mask    SCOPE training  KIND adapt  EFFORT 0.5)
cpize_shard_feature(r_set_to_rep_atom     SCOPE training  KIND new    EFFORT 2  RISK medium "a third token axis, whose length depends on what is resolved")
cpize_shard_feature(frame_resolved_mask   SCOPE training  KIND adapt  EFFORT 0.5)
cpize_shard_feature(disto_target          SCOPE training  KIND adapt  EFFORT 2  RISK medium "one-hot over 64 bins: the largest feature, made shard by shard")
cpize_shard_feature(token_disto_mask      SCOPE training  KIND adapt  EFFORT 0.5)
cpize_shard_feature(bfactor               SCOPE training  KIND adapt  EFFORT 0.5)
cpize_shard_feature(plddt                 SCOPE training  KIND adapt  EFFORT 0.5)
cpize_shard_feature(symmetries            SCOPE training  KIND new    EFFORT 4  RISK medium "lists of unequal length, the same on every rank of a replica")
