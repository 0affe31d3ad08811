#include "model/contact_net.hpp"

namespace model {

ContactNetImpl::ContactNetImpl(const Options& o)
    : embed(register_module("embed", torch::nn::Linear(1, o.channels))),
      lift(register_module("lift", torch::nn::Linear(o.channels, o.channels))),
      rows(register_module("rows", AxialAttention(o.channels, o.heads, o.reach))),
      columns(register_module("columns", AxialAttention(o.channels, o.heads, o.reach))),
      head(register_module("head", PooledHead(o.channels))) {}

at::Tensor ContactNetImpl::forward(const at::Tensor& height, const at::Tensor& present) {
  const at::Tensor padding = (present.unsqueeze(2) * present.unsqueeze(1)).eq(0);
  at::Tensor x = lift(at::silu(embed(height.masked_fill(padding, 0).unsqueeze(-1))));
  x = x + rows(x, present);
  x = x + columns(x.transpose(1, 2), present).transpose(1, 2);
  return head(x, present);
}

}  // namespace model
