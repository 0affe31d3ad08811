// A stack of pairformer layers without a single track, on a mesh: layers.0, layers.1, ... one after the other.
//
// Shapes and layout as in pairformer_noseq_layer.hpp. With options.checkpoint each layer keeps its input alone and is
// run again in backward (checkpointing/checkpoint.hpp): the same bits, dropout included, for its forward's exchanges
// once more. In inference z is moved from layer to layer, so that no second one is kept.
#pragma once
#include <torch/nn/modules/container/modulelist.h>

#include "trunk/pairformer/pairformer_noseq_layer.hpp"

namespace cpize::trunk {

class PairformerNoSeqModuleImpl : public torch::nn::Module {
 public:
  PairformerNoSeqModuleImpl(std::int64_t token_z, std::int64_t num_blocks, const PairformerOptions& options = {});

  /// Every rank of the mesh calls it. Layer i draws its dropout from child "layers.<i>".
  Sharded<Pair> forward(Sharded<Pair> z, const Sharded<Pair>& pair_mask, const Dropout& dropout = {});

  const PairformerOptions options;
  torch::nn::ModuleList layers;
};
TORCH_MODULE(PairformerNoSeqModule);

}  // namespace cpize::trunk
