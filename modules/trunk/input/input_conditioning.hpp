// Input conditioning on a mesh: the input embedder without its atom encoder. Residue type, MSA profile, and what is
// known of the experiment, the chain and the residue, added up to the single representation.
//
//   s_inputs = res_type_encoding(res_type) + msa_profile_encoding([profile, deletion_mean])
//              + method_conditioning_init[method] + modified_conditioning_init[modified]
//              + cyclic_conditioning_init(min(cyclic_period, 1)) + mol_type_conditioning_init[mol_type]
//
// Source: Boltz-2, trunkv2 InputEmbedder.
//
// Layout Single in and out; each token on its own. Communication: none. Saved: the features. Peak: 3 shards of
// s_inputs. dtype: that of the weights; under autocast linear layers in that of autocast, the sum in fp32.
#pragma once
#include <optional>

#include "trunk/input/embedding_table.hpp"
#include "trunk/token_input_embedder.hpp"

namespace cpize::trunk {

struct InputConditioningOptions {
  bool method = true, modified = true, cyclic = true, mol_type = true;  // which conditionings a checkpoint has
};

/// method_feature (12 classes), modified (2), mol_type (4) [B,N] integer, inside their classes also where padded;
/// cyclic_period [B,N] (integer or float), 0 where not cyclic. Those that the options ask for must be given.
struct InputConditioningFeatures {
  TokenInputFeatures input;
  std::optional<Sharded<Single>> method_feature = {}, modified = {}, cyclic_period = {}, mol_type = {};
};

/// Parameters, in order: those of TokenInputEmbedder, method_conditioning_init.weight [12, token_s],
/// modified_conditioning_init.weight [2, token_s], cyclic_conditioning_init.weight [token_s, 1],
/// mol_type_conditioning_init.weight [4, token_s]. Gradients are this rank's share. The atom encoder's share of
/// s_inputs is not part of it.
class InputConditioningImpl : public torch::nn::Module {
 public:
  static constexpr std::int64_t kMethods = 12, kMoleculeTypes = 4;

  explicit InputConditioningImpl(std::int64_t token_s, const InputConditioningOptions& options = {});

  /// -> s_inputs [B,N,token_s]. ContractError where a feature that the options ask for is missing.
  Sharded<Single> forward(const InputConditioningFeatures& features);

  const InputConditioningOptions options;
  TokenInputEmbedder token_input;  // its children are registered here, where a checkpoint has them
  EmbeddingTable method_conditioning_init{nullptr};
  EmbeddingTable modified_conditioning_init{nullptr};
  Projection cyclic_conditioning_init{nullptr};
  EmbeddingTable mol_type_conditioning_init{nullptr};
};
TORCH_MODULE(InputConditioning);

}  // namespace cpize::trunk
