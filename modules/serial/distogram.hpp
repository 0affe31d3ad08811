// The distogram head: logits of the distance between two tokens, from the symmetric part of the pair representation.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "serial/initialisers.hpp"

namespace cpize::serial {

/// distogram(z + z^T). Parameters, in order: distogram.weight [num_distograms num_bins, token_z], distogram.bias.
class DistogramModuleImpl : public torch::nn::Module {
 public:
  DistogramModuleImpl(int64_t token_z, int64_t num_bins, int64_t num_distograms = 1);

  /// z [B,N,N,token_z] -> [B,N,N,num_distograms,num_bins]
  at::Tensor forward(const at::Tensor& z);

  const int64_t num_bins, num_distograms;
  torch::nn::Linear distogram;
};
TORCH_MODULE(DistogramModule);

}  // namespace cpize::serial
