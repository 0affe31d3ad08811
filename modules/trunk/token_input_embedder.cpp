#include "trunk/token_input_embedder.hpp"

#include <ATen/ATen.h>

namespace cpize::trunk {

TokenInputEmbedderImpl::TokenInputEmbedderImpl(std::int64_t token_s)
    : res_type_encoding(register_module("res_type_encoding", Projection(kResidueTypes, token_s))),
      msa_profile_encoding(register_module("msa_profile_encoding", Projection(kResidueTypes + 1, token_s))) {}

Sharded<Single> TokenInputEmbedderImpl::forward(const TokenInputFeatures& features) {
  const auto dtype = res_type_encoding->weight.scalar_type();
  const at::Tensor profile =
      at::cat({features.profile.local().to(dtype), features.deletion_mean.local().to(dtype).unsqueeze(-1)}, /*dim=*/-1);
  return features.res_type.with(at::linear(features.res_type.local().to(dtype), res_type_encoding->weight) +
                                at::linear(profile, msa_profile_encoding->weight));
}

}  // namespace cpize::trunk
