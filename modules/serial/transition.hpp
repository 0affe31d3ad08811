// The transition: a SwiGLU feed-forward block, applied to each row on its own.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "serial/initialisers.hpp"

namespace cpize::serial {

/// fc3(silu(fc1 n) * fc2 n) with n = norm(x). Parameters, in order: norm.{weight,bias}, fc1.weight, fc2.weight [hidden,
/// dim], fc3.weight [out_dim, hidden].
class TransitionImpl : public torch::nn::Module {
 public:
  /// `out_dim` 0 means `dim`.
  TransitionImpl(int64_t dim, int64_t hidden, int64_t out_dim = 0);

  /// x [..., dim] -> [..., out_dim], in the dtype of x. `chunk_size` > 0 sums fc3 over slices of that many hidden
  /// channels: the same value up to rounding, with less memory.
  at::Tensor forward(const at::Tensor& x, int64_t chunk_size = 0);

  torch::nn::LayerNorm norm;
  torch::nn::Linear fc1;
  torch::nn::Linear fc2;
  torch::nn::Linear fc3;
};
TORCH_MODULE(Transition);

}  // namespace cpize::serial
