#include "model/pooled_head.hpp"

namespace model {

PooledHeadImpl::PooledHeadImpl(int64_t channels)
    : norm(register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({channels})))),
      fc1(register_module("fc1", torch::nn::Linear(channels, channels))),
      fc2(register_module("fc2", torch::nn::Linear(channels, 1))) {}

at::Tensor PooledHeadImpl::forward(const at::Tensor& x, const at::Tensor& present) {
  const at::Tensor cells = present.unsqueeze(2) * present.unsqueeze(1);
  return score(sum(x, cells), cells.sum({1, 2}));
}

at::Tensor PooledHeadImpl::sum(const at::Tensor& x, const at::Tensor& cells) {
  const at::Tensor outside = cells.eq(0).unsqueeze(-1);
  return norm(x.masked_fill(outside, 0)).masked_fill(outside, 0).sum({1, 2});
}

at::Tensor PooledHeadImpl::score(const at::Tensor& sum, const at::Tensor& count) {
  return fc2(at::silu(fc1(sum / count.clamp_min(1).unsqueeze(-1))));
}

}  // namespace model
