// Fourier embedding: a number as cosines of a fixed random projection.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "serial/initialisers.hpp"

namespace cpize::serial {

/// cos(2 pi (w t + b)). Parameters, in order: proj.weight [dim, 1], proj.bias [dim], both standard normal and frozen:
/// they are part of a checkpoint, and no gradient reaches them.
class FourierEmbeddingImpl : public torch::nn::Module {
 public:
  explicit FourierEmbeddingImpl(int64_t dim);

  /// t of any shape -> [..., dim]
  at::Tensor forward(const at::Tensor& t);

  torch::nn::Linear proj;
};
TORCH_MODULE(FourierEmbedding);

}  // namespace cpize::serial
