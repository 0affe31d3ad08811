// Padding and collation: policies of the data layer. Masks mark the padding; no result depends on it.
#pragma once
#include <vector>

#include "features/token_features.hpp"

namespace cpize::features {

/// The features padded at the end of every token axis to `tokens` tokens with the table's padding values;
/// `token_pad_mask` is 0 there, and `msa_mask` in those columns. The inputs are not changed.
/// @throws ContractError if `tokens` is less than there are.
Features pad_tokens_to(const Features& features, int64_t tokens);

/// The same for the rows of the MSA: `msa_mask` is 0 there. Without an MSA nothing happens.
Features pad_msa_to(const Features& features, int64_t rows);

/// The same, to the next multiple of `multiple` (at least 1).
Features pad_tokens(const Features& features, int64_t multiple);

/// Samples as one batch: each is padded to the largest number of tokens (then to a multiple of `multiple`) and to the
/// deepest MSA, and a batch dimension is put in front. Samples must hold the same features. @throws ContractError
/// naming the feature that one sample lacks.
Features collate(const std::vector<Features>& samples, int64_t multiple = 1);

}  // namespace cpize::features
