#include "serial/token_input_embedder.hpp"

#include <ATen/Functions.h>

namespace cpize::serial {

TokenInputFeatures TokenInputFeatures::from(const FeatureSource& features) {
  return {features("res_type"), features("profile"), features("deletion_mean")};
}

TokenInputEmbedderImpl::TokenInputEmbedderImpl(int64_t token_s)
    : res_type_encoding(register_module("res_type_encoding", plain_linear(kResidueTypes, token_s))),
      msa_profile_encoding(register_module("msa_profile_encoding", plain_linear(kResidueTypes + 1, token_s))) {}

at::Tensor TokenInputEmbedderImpl::forward(const TokenInputFeatures& features) {
  const auto dtype = res_type_encoding->weight.scalar_type();
  const at::Tensor profile = at::cat({features.profile.to(dtype), features.deletion_mean.to(dtype).unsqueeze(-1)}, -1);
  return res_type_encoding(features.res_type.to(dtype)) + msa_profile_encoding(profile);
}

}  // namespace cpize::serial
