// Token features: the named tensors that the model reads, made from a tokenised structure.
#pragma once
#include <ATen/ATen.h>

#include <map>
#include <string>

#include "features/feature_spec.hpp"
#include "features/tokens.hpp"

namespace cpize::features {

/// Feature name -> tensor; sorted, so that every rank walks it in the same order.
using Features = std::map<std::string, at::Tensor>;

/// The token features of one sample, without a batch dimension (shapes and dtypes: feature_spec.hpp), on the CPU: all
/// that are needed, and `disto_center` with `token_disto_mask` if `with_coordinates`. There is no alignment: profile is
/// the one-hot of the sequence.
/// @throws InputError if there are no tokens.
Features token_features(const Structure& structure, const TokenisedStructure& tokenised, bool with_coordinates = false);

/// Checks a feature dictionary against the spec table: unknown names, absent features, dtypes, ranks, sizes of fixed
/// dimensions, one common number of tokens, masks of 0 and 1 only. `batched`: every tensor has a batch dimension in
/// front.
/// @returns the number of tokens. @throws ContractError naming the feature, what it has and what is expected.
int64_t check_features(const Features& features, bool batched = false);

at::ScalarType torch_dtype(FeatureType type);

}  // namespace cpize::features
