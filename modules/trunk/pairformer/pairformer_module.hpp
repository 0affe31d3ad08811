// A stack of pairformer layers on a mesh: layers.0, layers.1, ... one after the other.
//
// Shapes and layouts as in pairformer_layer.hpp. With options.checkpoint each layer keeps its inputs alone and is run
// again in backward (checkpointing/checkpoint.hpp): the same bits, dropout included, for its forward's exchanges once
// more. In inference z is moved from layer to layer, so that no second one is kept.
#pragma once
#include <torch/nn/modules/container/modulelist.h>

#include "trunk/pairformer/pairformer_layer.hpp"

namespace cpize::trunk {

class PairformerModuleImpl : public torch::nn::Module {
 public:
  PairformerModuleImpl(std::int64_t token_s, std::int64_t token_z, std::int64_t num_blocks,
                       const PairformerOptions& options = {});

  /// Every rank of the mesh calls it. Layer i draws its dropout from child "layers.<i>".
  std::tuple<Sharded<Single>, Sharded<Pair>> forward(Sharded<Single> s, Sharded<Pair> z, const Sharded<Single>& mask,
                                                     const Sharded<Pair>& pair_mask, const Dropout& dropout = {});

  const PairformerOptions options;
  torch::nn::ModuleList layers;
};
TORCH_MODULE(PairformerModule);

}  // namespace cpize::trunk
