// The token part of the input embedder: residue type and MSA profile, projected to the single representation.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "serial/feature_source.hpp"
#include "serial/initialisers.hpp"

namespace cpize::serial {

inline constexpr int64_t kResidueTypes = 33;

/// res_type [B,N,33] one-hot (integer or float), profile [B,N,33], deletion_mean [B,N].
struct TokenInputFeatures {
  at::Tensor res_type, profile, deletion_mean;

  static TokenInputFeatures from(const FeatureSource& features);
};

/// res_type_encoding(res_type) + msa_profile_encoding([profile, deletion_mean]). Parameters, in order:
/// res_type_encoding.weight [token_s, 33], msa_profile_encoding.weight [token_s, 34]. The atom encoder's share is not
/// part of it.
class TokenInputEmbedderImpl : public torch::nn::Module {
 public:
  explicit TokenInputEmbedderImpl(int64_t token_s);

  /// -> s_inputs [B,N,token_s] in the dtype of the weights.
  at::Tensor forward(const TokenInputFeatures& features);

  torch::nn::Linear res_type_encoding;
  torch::nn::Linear msa_profile_encoding;
};
TORCH_MODULE(TokenInputEmbedder);

}  // namespace cpize::serial
