#include "serial/template_module.hpp"

#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "serial/token_input_embedder.hpp"

namespace cpize::serial {
namespace {

at::Tensor pairs_of(const at::Tensor& mask) { return mask.unsqueeze(3) * mask.unsqueeze(2); }

}  // namespace

TemplateFeatures TemplateFeatures::from(const FeatureSource& features) {
  return {features("asym_id"),          features("template_restype"),    features("template_frame_rot"),
          features("template_frame_t"), features("template_mask_frame"), features("template_cb"),
          features("template_ca"),      features("template_mask_cb"),    features("template_mask")};
}

TemplateModuleImpl::TemplateModuleImpl(int64_t token_z, const TemplateModuleOptions& o)
    : options(o),
      z_norm(register_module("z_norm", layer_norm(token_z))),
      v_norm(register_module("v_norm", layer_norm(o.template_dim))),
      z_proj(register_module("z_proj", plain_linear(token_z, o.template_dim))),
      a_proj(register_module("a_proj", plain_linear(o.num_bins + 5 + 2 * kResidueTypes, o.template_dim))),
      u_proj(register_module("u_proj", plain_linear(o.template_dim, token_z))),
      pairformer(
          register_module("pairformer", PairformerNoSeqModule(o.template_dim, o.template_blocks, o.pairformer))) {}

at::Tensor TemplateModuleImpl::geometry(const TemplateFeatures& f) const {
  const auto dtype = f.template_cb.scalar_type();
  const at::Tensor distance = (f.template_cb.unsqueeze(3) - f.template_cb.unsqueeze(2)).square().sum(-1).sqrt();
  const at::Tensor edges =
      at::linspace(options.min_dist, options.max_dist, options.num_bins - 1, distance.options().dtype(at::kFloat));
  const at::Tensor bin = (distance.unsqueeze(-1) > edges.to(dtype)).sum(-1);
  // R_j^T (ca_i - t_j): component c is the product with column c of the rotation.
  const at::Tensor offset = f.template_ca.unsqueeze(3) - f.template_frame_t.unsqueeze(2);
  const at::Tensor local = (f.template_frame_rot.unsqueeze(2) * offset.unsqueeze(-1)).sum(-2);
  const at::Tensor same_chain = (f.asym_id.unsqueeze(2) == f.asym_id.unsqueeze(1)).to(dtype);
  return at::cat({at::one_hot(bin, options.num_bins).to(dtype), pairs_of(f.template_mask_cb).unsqueeze(-1).to(dtype),
                  local.sign(), pairs_of(f.template_mask_frame).unsqueeze(-1).to(dtype)},
                 -1) *
         same_chain.unsqueeze(1).unsqueeze(-1);
}

at::Tensor TemplateModuleImpl::forward(const at::Tensor& z, const TemplateFeatures& f, const at::Tensor& pair_mask,
                                       const Dropout& dropout) {
  const int64_t templates = f.template_restype.size(1), tokens = z.size(1);
  at::Tensor embedded;  // [B,T,N,N,D]
  {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(
        at::autocast::get_autocast_dispatch_key_from_device_type(z.device().type()));
    const auto dtype = a_proj->weight.scalar_type();
    const at::Tensor types = f.template_restype.to(dtype);
    const auto grid = [&](const at::Tensor& x) { return x.expand({-1, -1, tokens, tokens, -1}); };
    embedded = a_proj(at::cat({geometry(f).to(dtype), grid(types.unsqueeze(3)), grid(types.unsqueeze(2))}, -1));
  }
  const at::Tensor projected = z_proj(z_norm(z));
  const at::Tensor given = (f.template_mask != 0).any(2).to(projected.scalar_type()).view({-1, templates, 1, 1, 1});
  at::Tensor sum = at::zeros_like(projected);
  for (int64_t t = 0; t < templates; ++t) {
    at::Tensor v = projected + embedded.select(1, t);
    v = v + pairformer(v, pair_mask, dropout.child("templates." + std::to_string(t)).child("pairformer"));
    sum = sum + v_norm(v) * given.select(1, t);
  }
  return u_proj(at::relu(sum / given.sum(1).clamp_min(1)));
}

}  // namespace cpize::serial
