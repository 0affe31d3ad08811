#include "serial/triangle_multiplication.hpp"

#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace cpize::serial {

TriangleMultiplicationImpl::TriangleMultiplicationImpl(int64_t dim, TriangleDirection direction)
    : direction(direction),
      norm_in(register_module("norm_in", layer_norm(dim))),
      p_in(register_module("p_in", lecun_linear(dim, 2 * dim))),
      g_in(register_module("g_in", zero_linear(dim, 2 * dim))),
      norm_out(register_module("norm_out", layer_norm(dim))),
      p_out(register_module("p_out", zero_linear(dim, dim))),
      g_out(register_module("g_out", zero_linear(dim, dim))) {}

at::Tensor TriangleMultiplicationImpl::forward(const at::Tensor& x, const at::Tensor& mask) {
  const at::Tensor normed = norm_in(x);
  at::Tensor edges = p_in(normed) * at::sigmoid(g_in(normed));
  edges = edges * mask.to(edges.scalar_type()).unsqueeze(-1);
  const auto wide = at::promote_types(edges.scalar_type(), at::kFloat);
  const auto halves = edges.to(wide).chunk(2, -1);
  at::Tensor sum;
  {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(
        at::autocast::get_autocast_dispatch_key_from_device_type(x.device().type()));
    sum = at::einsum(direction == TriangleDirection::outgoing ? "bikd,bjkd->bijd" : "bkid,bkjd->bijd",
                     {halves[0], halves[1]});
  }
  return p_out(norm_out(sum.to(normed.scalar_type()))) * at::sigmoid(g_out(normed));
}

}  // namespace cpize::serial
