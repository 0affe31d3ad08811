// MSA features: the alignments of a complex as the tensors that the MSA track and the input embedder read.
#pragma once
#include "features/chain_alignments.hpp"
#include "features/msa_pairing.hpp"
#include "features/token_features.hpp"

namespace cpize::features {

/// Adds the MSA of a complex to its token features. S rows (at most `limits.rows`: what is cut off counts nowhere), in
/// the order of pair_rows; N tokens:
/// * `msa` [S,N] int64: residue types. Row 0 is the tokens' own res_type. Elsewhere a token has the letter of its
///   residue's column, all atoms of a modified residue the same; a chain without a row there, and every non-polymer,
///   has gaps (1).
/// * `msa_paired` [S,N]: 1 for tokens of chains that are in the row by their key, and in row 0.
/// * `has_deletion` [S,N]: 1 where letters stand in front of the column; `deletion_value` [S,N]: pi/2 atan(d/3) of
/// their
///   number d (the published formula, which is not 2/pi).
/// * `msa_mask` [S,N]: 1 for gaps as well, as published; it varies by row and token once samples are padded.
/// * `profile` [N,33]: mean over the rows of the one-hot residue types, gaps included; `deletion_mean` [N]: mean of
///   deletion_value. Both replace those of token_features.
///
/// Subsampling rows is the model's business.
/// @throws ContractError if `alignments` has another number of chains than `structure`, or a limit is less than 1.
void add_msa_features(Features& features, const Structure& structure, const TokenisedStructure& tokenised,
                      const ChainAlignments& alignments, const MsaLimits& limits = {});

}  // namespace cpize::features
