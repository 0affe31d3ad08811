// AxialAttention: every cell of a map attends to the cells of its own row, with a bias by distance.
#pragma once
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

namespace model {

class AxialAttentionImpl : public torch::nn::Module {
 public:
  AxialAttentionImpl(int64_t channels, int64_t heads, int64_t reach);

  /// x [B,R,N,C]: R rows of N cells each; present [B,N]: 1 where the map has such a column. Returns [B,R,N,C].
  at::Tensor forward(const at::Tensor& x, const at::Tensor& present);

  int64_t heads, reach;
  torch::nn::LayerNorm norm;
  torch::nn::Linear query, key, value, out;
  at::Tensor bias;  // [heads, 2 reach + 1], by clamped distance
};
TORCH_MODULE(AxialAttention);

}  // namespace model
