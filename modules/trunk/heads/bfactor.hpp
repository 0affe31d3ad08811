// The b-factor head on a mesh: logits of the b-factor of a token, each token on its own.
//
//   y = bfactor(s)
//
// Source: Boltz-2, trunkv2 BFactorModule.
//
// Shapes: s Single [B,N,token_s] -> y Single [B,N,num_bins], in the dtype of s (under autocast: of autocast).
// Communication: none. Saved: s, an input. Peak: y.
#pragma once
#include "layout/sharded.hpp"
#include "trunk/parameters.hpp"

namespace cpize::trunk {

/// Parameters, in order: bfactor.weight [num_bins, token_s], bfactor.bias. Gradients are this rank's share.
class BFactorModuleImpl : public torch::nn::Module {
 public:
  BFactorModuleImpl(std::int64_t token_s, std::int64_t num_bins);

  Sharded<Single> forward(const Sharded<Single>& s);

  BiasedProjection bfactor;
};
TORCH_MODULE(BFactorModule);

}  // namespace cpize::trunk
