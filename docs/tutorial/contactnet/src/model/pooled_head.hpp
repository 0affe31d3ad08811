// PooledHead: one score a map, from the mean over its cells.
#pragma once
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

namespace model {

class PooledHeadImpl : public torch::nn::Module {
 public:
  explicit PooledHeadImpl(int64_t channels);

  /// x [B,N,N,C], present [B,N]. Returns [B,1].
  at::Tensor forward(const at::Tensor& x, const at::Tensor& present);

  /// The sum over some cells of a map, x [B,R,S,C], cells [B,R,S] (1: counts). Returns [B,C].
  at::Tensor sum(const at::Tensor& x, const at::Tensor& cells);
  /// The score from the sum over all cells [B,C] and their number [B].
  at::Tensor score(const at::Tensor& sum, const at::Tensor& count);

  torch::nn::LayerNorm norm;
  torch::nn::Linear fc1, fc2;
};
TORCH_MODULE(PooledHead);

}  // namespace model
