// The b-factor head: logits of the b-factor of a token, from the single representation.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "serial/initialisers.hpp"

namespace cpize::serial {

/// bfactor(s). Parameters, in order: bfactor.weight [num_bins, token_s], bfactor.bias.
class BFactorModuleImpl : public torch::nn::Module {
 public:
  BFactorModuleImpl(int64_t token_s, int64_t num_bins)
      : bfactor(register_module("bfactor", torch::nn::Linear(token_s, num_bins))) {}

  /// s [B,N,token_s] -> [B,N,num_bins]
  at::Tensor forward(const at::Tensor& s) { return bfactor(s); }

  torch::nn::Linear bfactor;
};
TORCH_MODULE(BFactorModule);

}  // namespace cpize::serial
