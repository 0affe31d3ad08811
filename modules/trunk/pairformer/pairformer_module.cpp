#include "trunk/pairformer/pairformer_module.hpp"

#include <ATen/core/grad_mode.h>

#include "trunk/checkpointing/checkpoint.hpp"

namespace cpize::trunk {

PairformerModuleImpl::PairformerModuleImpl(std::int64_t token_s, std::int64_t token_z, std::int64_t num_blocks,
                                           const PairformerOptions& options)
    : options(options), layers(register_module("layers", torch::nn::ModuleList())) {
  for (std::int64_t i = 0; i < num_blocks; ++i) layers->push_back(PairformerLayer(token_s, token_z, options));
}

std::tuple<Sharded<Single>, Sharded<Pair>> PairformerModuleImpl::forward(Sharded<Single> s, Sharded<Pair> z,
                                                                         const Sharded<Single>& mask,
                                                                         const Sharded<Pair>& pair_mask,
                                                                         const Dropout& dropout) {
  const bool checkpointed = options.checkpoint && at::GradMode::is_enabled();
  for (std::size_t i = 0; i < layers->size(); ++i) {
    const auto layer = layers->ptr<PairformerLayerImpl>(i);
    const Dropout own = dropout.child("layers." + std::to_string(i));
    if (checkpointed)
      std::tie(s, z) = checkpoint(
          *layer,
          [layer, own](const Sharded<Single>& s, const Sharded<Pair>& z, const Sharded<Single>& mask,
                       const Sharded<Pair>& pair_mask) { return layer->forward(s, z, mask, pair_mask, own); },
          s, z, mask, pair_mask);
    else
      std::tie(s, z) = layer->forward(s, std::move(z), mask, pair_mask, own);
  }
  return {std::move(s), std::move(z)};
}

}  // namespace cpize::trunk
