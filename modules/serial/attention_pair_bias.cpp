#include "serial/attention_pair_bias.hpp"

#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cmath>

namespace cpize::serial {

AttentionPairBiasImpl::AttentionPairBiasImpl(const AttentionPairBiasOptions& o)
    : options(o),
      proj_q(register_module("proj_q", torch::nn::Linear(o.c_s, o.c_s))),
      proj_k(register_module("proj_k", plain_linear(o.c_s, o.c_s))),
      proj_v(register_module("proj_v", plain_linear(o.c_s, o.c_s))),
      proj_g(register_module("proj_g", plain_linear(o.c_s, o.c_s))) {
  TORCH_CHECK(o.num_heads > 0 && o.c_s % o.num_heads == 0, "attention with pair bias: ", o.c_s,
              " channels do not divide into ", o.num_heads, " heads");
  if (o.compute_pair_bias)
    proj_z = register_module("proj_z", torch::nn::Sequential(layer_norm(o.c_z), plain_linear(o.c_z, o.num_heads)));
  proj_o = register_module("proj_o", zero_linear(o.c_s, o.c_s));
}

at::Tensor AttentionPairBiasImpl::forward(const at::Tensor& s, const at::Tensor& z, const at::Tensor& mask,
                                          const at::Tensor& k_in, int64_t multiplicity) {
  const int64_t samples = s.size(0), heads = options.num_heads, width = options.c_s / heads;
  const auto by_head = [&](const at::Tensor& x) { return x.view({samples, -1, heads, width}); };
  const at::Tensor q = by_head(proj_q(s)), k = by_head(proj_k(k_in)), v = by_head(proj_v(k_in));
  const at::Tensor bias =
      (options.compute_pair_bias ? proj_z->forward(z) : z).permute({0, 3, 1, 2}).repeat_interleave(multiplicity, 0);
  const at::Tensor gate = at::sigmoid(proj_g(s));

  const auto wide = at::promote_types(v.scalar_type(), at::kFloat);
  at::Tensor out;
  {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(
        at::autocast::get_autocast_dispatch_key_from_device_type(s.device().type()));
    at::Tensor logits = at::einsum("bihd,bjhd->bhij", {q.to(wide), k.to(wide)}) / std::sqrt(static_cast<double>(width));
    logits = logits + bias.to(wide);
    const at::Tensor valid = mask.to(wide);
    const at::Tensor penalised = (valid < valid.amax(-1, /*keepdim=*/true)).unsqueeze(1).unsqueeze(1);
    const at::Tensor weights = at::softmax(logits.masked_fill(penalised, -options.inf), -1);
    out = at::einsum("bhij,bjhd->bihd", {weights, v.to(wide)}).to(v.scalar_type());
  }
  return proj_o(gate * out.reshape({samples, -1, options.c_s}));
}

}  // namespace cpize::serial
