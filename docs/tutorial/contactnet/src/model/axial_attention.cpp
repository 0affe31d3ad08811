#include "model/axial_attention.hpp"

#include <cmath>

namespace model {

using torch::nn::LayerNormOptions;
using torch::nn::Linear;
using torch::nn::LinearOptions;

AxialAttentionImpl::AxialAttentionImpl(int64_t channels, int64_t heads, int64_t reach)
    : heads(heads),
      reach(reach),
      norm(register_module("norm", torch::nn::LayerNorm(LayerNormOptions({channels})))),
      query(register_module("query", Linear(LinearOptions(channels, channels).bias(false)))),
      key(register_module("key", Linear(LinearOptions(channels, channels).bias(false)))),
      value(register_module("value", Linear(LinearOptions(channels, channels).bias(false)))),
      out(register_module("out", Linear(LinearOptions(channels, channels).bias(false)))),
      bias(register_parameter("bias", at::zeros({heads, 2 * reach + 1}))) {}

at::Tensor AxialAttentionImpl::forward(const at::Tensor& x, const at::Tensor& present) {
  const auto b = x.size(0), r = x.size(1), n = x.size(2), c = x.size(3), d = c / heads;
  const auto split = [&](const at::Tensor& t) { return t.view({b, r, n, heads, d}).transpose(2, 3); };  // [B,R,H,N,D]
  const at::Tensor normed = norm(x);
  const at::Tensor position = at::arange(n, x.options().dtype(at::kLong));
  const at::Tensor distance = (position.unsqueeze(0) - position.unsqueeze(1)).clamp(-reach, reach) + reach;
  at::Tensor logits = at::matmul(split(query(normed)), split(key(normed)).mT()) / std::sqrt(static_cast<double>(d));
  logits = logits + bias.index_select(1, distance.flatten()).view({heads, n, n});
  logits = logits.masked_fill(present.eq(0).view({b, 1, 1, 1, n}), -1e9);
  const at::Tensor mixed = at::matmul(logits.softmax(-1), split(value(normed)));
  return out(mixed.transpose(2, 3).reshape({b, r, n, c}));
}

}  // namespace model
