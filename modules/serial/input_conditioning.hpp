// Input conditioning: the input embedder without its atom encoder. Residue type, MSA profile, and what is known of the
// experiment, the chain and the residue, added up to the single representation.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/pimpl.h>

#include "serial/token_input_embedder.hpp"

namespace cpize::serial {

inline constexpr int64_t kMethods = 12;       // experimental methods, with five reserved
inline constexpr int64_t kMoleculeTypes = 4;  // protein, DNA, RNA, other

struct InputConditioningOptions {
  bool method = true, modified = true, cyclic = true, mol_type = true;  // which conditionings a checkpoint has
};

/// method_feature, modified, mol_type [B,N] integer; cyclic_period [B,N] (integer or float), 0 where not cyclic. What
/// the options leave out may be undefined.
struct InputConditioningFeatures {
  TokenInputFeatures input;
  at::Tensor method_feature, modified, cyclic_period, mol_type;

  static InputConditioningFeatures from(const FeatureSource& features);
};

/// res_type_encoding(res_type) + msa_profile_encoding([profile, deletion_mean]) + method_conditioning_init[method] +
/// modified_conditioning_init[modified] + cyclic_conditioning_init(min(cyclic_period, 1)) +
/// mol_type_conditioning_init[mol_type]. Parameters in that order: those of TokenInputEmbedder, then
/// method_conditioning_init.weight [12, token_s], modified_conditioning_init.weight [2, token_s],
/// cyclic_conditioning_init.weight [token_s, 1], mol_type_conditioning_init.weight [4, token_s]; the last four start as
/// zero. The atom encoder's share of s_inputs is not part of it.
class InputConditioningImpl : public torch::nn::Module {
 public:
  explicit InputConditioningImpl(int64_t token_s, const InputConditioningOptions& options = {});

  /// -> [B,N,token_s] in the dtype of the weights.
  at::Tensor forward(const InputConditioningFeatures& features);

  const InputConditioningOptions options;
  TokenInputEmbedder token_input;  // its children are registered here, where a checkpoint has them
  torch::nn::Embedding method_conditioning_init{nullptr};
  torch::nn::Embedding modified_conditioning_init{nullptr};
  torch::nn::Linear cyclic_conditioning_init{nullptr};
  torch::nn::Embedding mol_type_conditioning_init{nullptr};
};
TORCH_MODULE(InputConditioning);

}  // namespace cpize::serial
