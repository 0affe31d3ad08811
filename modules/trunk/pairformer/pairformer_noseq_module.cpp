#include "trunk/pairformer/pairformer_noseq_module.hpp"

#include <ATen/core/grad_mode.h>

#include "trunk/checkpointing/checkpoint.hpp"

namespace cpize::trunk {

PairformerNoSeqModuleImpl::PairformerNoSeqModuleImpl(std::int64_t token_z, std::int64_t num_blocks,
                                                     const PairformerOptions& options)
    : options(options), layers(register_module("layers", torch::nn::ModuleList())) {
  for (std::int64_t i = 0; i < num_blocks; ++i) layers->push_back(PairformerNoSeqLayer(token_z, options));
}

Sharded<Pair> PairformerNoSeqModuleImpl::forward(Sharded<Pair> z, const Sharded<Pair>& pair_mask,
                                                 const Dropout& dropout) {
  const bool checkpointed = options.checkpoint && at::GradMode::is_enabled();
  for (std::size_t i = 0; i < layers->size(); ++i) {
    const auto layer = layers->ptr<PairformerNoSeqLayerImpl>(i);
    const Dropout own = dropout.child("layers." + std::to_string(i));
    if (checkpointed)
      z = checkpoint(
          *layer,
          [layer, own](const Sharded<Pair>& z, const Sharded<Pair>& mask) { return layer->forward(z, mask, own); }, z,
          pair_mask);
    else
      z = layer->forward(std::move(z), pair_mask, own);
  }
  return z;
}

}  // namespace cpize::trunk
