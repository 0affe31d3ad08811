// The token part of the input embedder on a mesh: residue type and MSA profile, projected to the single representation.
//
//   s_inputs = res_type_encoding(res_type) + msa_profile_encoding([profile, deletion_mean])
//
// Layout Single in and out; each token on its own. Communication: none. Saved: the features (67 channels a token).
// Peak: 2 shards of s_inputs. dtype: that of the weights; under autocast that of autocast.
#pragma once
#include "layout/sharded.hpp"
#include "trunk/parameters.hpp"

namespace cpize::trunk {

/// res_type [B,N,33] one-hot (integer or float), profile [B,N,33], deletion_mean [B,N].
struct TokenInputFeatures {
  Sharded<Single> res_type, profile, deletion_mean;
};

/// Parameters, in order: res_type_encoding.weight [token_s, 33], msa_profile_encoding.weight [token_s, 34]. Gradients
/// are this rank's share. The atom encoder's share of s_inputs is not part of it.
class TokenInputEmbedderImpl : public torch::nn::Module {
 public:
  static constexpr std::int64_t kResidueTypes = 33;

  explicit TokenInputEmbedderImpl(std::int64_t token_s);

  /// -> s_inputs [B,N,token_s].
  Sharded<Single> forward(const TokenInputFeatures& features);

  Projection res_type_encoding;
  Projection msa_profile_encoding;
};
TORCH_MODULE(TokenInputEmbedder);

}  // namespace cpize::trunk
