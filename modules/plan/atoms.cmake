# atoms/: windows of 32 queries and 128 keys over the whole grid, and what the input embedder and the score model do with them.
cpize_port(atom_windows  SUBSYSTEM atoms  KIND new  EFFORT 6  DEPENDS feature.atom_pad_mask
           RISK high "keys of a window come from three half-windows on either side, some from ranks that are no neighbours"
           CITES "AlphaFold 3, Algorithm 7" "Boltz-2, encodersv2 get_indexing_matrix and single_to_keys")
cpize_port(token_to_atom  SUBSYSTEM atoms  KIND new  EFFORT 4  DEPENDS feature.atom_to_token
           RISK medium "its adjoint adds atoms of one token that lie on several ranks"  CITES "AlphaFold 3, Algorithm 5")
cpize_port(atom_to_token  SUBSYSTEM atoms  KIND new  EFFORT 4  DEPENDS feature.atom_to_token feature.atom_pad_mask
           RISK medium "means over atoms that lie on two ranks"  CITES "AlphaFold 3, Algorithm 5")
cpize_port(pair_to_window  SUBSYSTEM atoms  KIND new  EFFORT 6  DEPENDS atom_windows feature.atom_to_token
           RISK high "rectangles of z for each window: static plan, no host synchronisation in a step"
           CITES "AlphaFold 3, Algorithm 5" "Boltz-2, encodersv2 AtomEncoder z_to_p_trans")
cpize_port(adaln  SUBSYSTEM atoms  KIND reuse  EFFORT 1  CITES "AlphaFold 3, Algorithm 26")
cpize_port(conditioned_transition  SUBSYSTEM atoms  KIND reuse  EFFORT 1  DEPENDS adaln  CITES "AlphaFold 3, Algorithm 25")
cpize_port(windowed_attention  SUBSYSTEM atoms  KIND adapt  EFFORT 3  DEPENDS atom_windows
           RISK medium "windows with no valid key"  CITES "AlphaFold 3, Algorithms 7 and 24")
cpize_port(atom_encoder  SUBSYSTEM atoms  KIND adapt  EFFORT 4
           DEPENDS atom_windows token_to_atom pair_to_window
                   feature.ref_pos feature.ref_charge feature.ref_element feature.ref_atom_name_chars feature.ref_space_uid
           RISK medium "always fp32, and two variants"  CITES "AlphaFold 3, Algorithm 5" "Boltz-2, encodersv2 AtomEncoder")
cpize_port(atom_transformer  SUBSYSTEM atoms  ROLE composition  KIND adapt  EFFORT 3
           DEPENDS windowed_attention adaln conditioned_transition
           RISK medium "biases precomputed for all layers, sliced"  CITES "AlphaFold 3, Algorithm 7" "Boltz-2, transformersv2 AtomTransformer")
cpize_port(atom_attention_encoder  SUBSYSTEM atoms  ROLE composition  KIND adapt  EFFORT 3
           DEPENDS atom_encoder atom_transformer atom_to_token  CITES "AlphaFold 3, Algorithm 5")
cpize_port(atom_attention_decoder  SUBSYSTEM atoms  ROLE composition  KIND adapt  EFFORT 2
           DEPENDS atom_transformer token_to_atom  CITES "AlphaFold 3, Algorithm 6")
