#include "trunk/templates/template_module.hpp"

#include <ATen/ATen.h>

#include "error/error.hpp"
#include "trunk/padding.hpp"

namespace cpize::trunk {
namespace {

constexpr std::int64_t kTypes = 33;

at::Tensor normed(const at::Tensor& x, const Norm& norm) {
  return at::layer_norm(x, {x.size(-1)}, norm->weight, norm->bias, kNormEpsilon);
}

}  // namespace

TemplateModuleImpl::TemplateModuleImpl(std::int64_t token_z, const TemplateModuleOptions& o)
    : options(o),
      z_norm(register_module("z_norm", Norm(token_z))),
      v_norm(register_module("v_norm", Norm(o.template_dim))),
      z_proj(register_module("z_proj", Projection(token_z, o.template_dim))),
      a_proj(register_module("a_proj", Projection(o.bins.num_bins + 5 + 2 * kTypes, o.template_dim))),
      u_proj(register_module("u_proj", Projection(o.template_dim, token_z))),
      pairformer(
          register_module("pairformer", PairformerNoSeqModule(o.template_dim, o.template_blocks, o.pairformer))) {}

Sharded<Pair> TemplateModuleImpl::forward(const Sharded<Pair>& z, const TemplateFeatures& features,
                                          const Sharded<Pair>& pair_mask, const Dropout& dropout) {
  const Shape &pairs = z.global(), &m = features.template_mask.global();
  if (pairs.size() != 4 || pairs[3] != z_norm->weight.size(0))
    throw ContractError("the template module takes z [B,N,N," + std::to_string(z_norm->weight.size(0)) + "]");
  if (m.size() != 3 || m[0] != pairs[0] || m[2] != pairs[1])
    throw ContractError("the template module: template_mask must be [B,T,N] with B and N of z");

  const auto coordinates = at::promote_types(features.template_cb.local().scalar_type(), at::kFloat);
  const auto operands = TemplateOperands::gather(features, coordinates);
  const at::Tensor projected = at::linear(normed(z.local(), z_norm), z_proj->weight);
  const at::Tensor given = templates_given(features.template_mask);
  at::Tensor sum;
  for (std::int64_t t = 0; t < m[1]; ++t) {
    const Sharded<Pair> v =
        z.with(embed_template(operands, t, a_proj->weight, options.bins, projected.scalar_type()) + projected);
    const auto path = dropout.child("templates." + std::to_string(t)).child("pairformer");
    const at::Tensor update = normed(add_to(v, pairformer(v, pair_mask, path)).local(), v_norm);
    const at::Tensor share = update * given.select(1, t).view({-1, 1, 1, 1}).to(update.scalar_type());
    sum = sum.defined() ? sum + share : share;
  }
  if (!sum.defined()) throw ContractError("the template module: there is no template");
  const at::Tensor count = given.sum(1).clamp_min(1).view({-1, 1, 1, 1}).to(sum.scalar_type());
  return z.with(at::linear(at::relu(sum / count), u_proj->weight));
}

}  // namespace cpize::trunk
