#include "serial/outer_product_mean.hpp"

#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>

namespace cpize::serial {
namespace {

/// Linear layer that starts as the zero map.
torch::nn::Linear zero_biased_linear(int64_t in, int64_t out) {
  torch::nn::Linear layer(in, out);
  torch::NoGradGuard no_grad;
  layer->weight.zero_();
  layer->bias.zero_();
  return layer;
}

/// [B,S,N,c] and [B,S,N,d], wide -> mean over s [B,N,N,c d], outside autocast.
at::Tensor mean_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& count) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(
      at::autocast::get_autocast_dispatch_key_from_device_type(a.device().type()));
  return at::einsum("bsic,bsjd->bijcd", {a, b}).flatten(3) / count;
}

}  // namespace

OuterProductMeanImpl::OuterProductMeanImpl(int64_t msa_s, int64_t hidden, int64_t token_z)
    : norm(register_module("norm", layer_norm(msa_s))),
      proj_a(register_module("proj_a", plain_linear(msa_s, hidden))),
      proj_b(register_module("proj_b", plain_linear(msa_s, hidden))),
      proj_o(register_module("proj_o", zero_biased_linear(hidden * hidden, token_z))) {}

at::Tensor OuterProductMeanImpl::forward(const at::Tensor& m, const at::Tensor& mask, int64_t chunk_size) {
  const at::Tensor normed = norm(m);
  const auto dtype = normed.scalar_type();
  const at::Tensor own = mask.to(dtype).unsqueeze(-1);
  const at::Tensor a = proj_a(normed) * own, b = proj_b(normed) * own;
  const auto wide = at::promote_types(a.scalar_type(), at::kFloat);
  const at::Tensor wide_a = a.to(wide), wide_b = b.to(wide);
  const at::Tensor valid = mask.to(wide);
  const at::Tensor count = (valid.unsqueeze(3) * valid.unsqueeze(2)).sum(1).clamp_min(1).unsqueeze(-1);  // [B,N,N,1]
  if (chunk_size <= 0) return proj_o(mean_product(wide_a, wide_b, count).to(dtype));
  const int64_t hidden = proj_a->weight.size(0);
  at::Tensor out;
  for (int64_t begin = 0; begin < hidden; begin += chunk_size) {
    const int64_t end = std::min(begin + chunk_size, hidden);
    const at::Tensor part = at::linear(mean_product(wide_a.slice(3, begin, end), wide_b, count).to(dtype),
                                       proj_o->weight.slice(1, begin * hidden, end * hidden));
    out = out.defined() ? out + part : part;
  }
  return out + proj_o->bias.to(out.scalar_type());
}

}  // namespace cpize::serial
