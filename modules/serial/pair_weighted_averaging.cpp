#include "serial/pair_weighted_averaging.hpp"

#include <ATen/Functions.h>

namespace cpize::serial {
namespace {

constexpr double kMaskedLogit = -1e6;

/// logits [B,N,N,heads], mask [B,N,N] -> weights [B,heads,N,N] that sum to one over the last dimension.
at::Tensor weights_of(const at::Tensor& logits, const at::Tensor& mask) {
  const auto wide = at::promote_types(logits.scalar_type(), at::kFloat);
  const at::Tensor has_partner = mask.ne(0).any(-1, /*keepdim=*/true);
  const at::Tensor penalty = (1 - mask.to(wide)) * has_partner * kMaskedLogit;
  return at::softmax(logits.to(wide).permute({0, 3, 1, 2}) + penalty.unsqueeze(1), -1);
}

}  // namespace

PairWeightedAveragingImpl::PairWeightedAveragingImpl(int64_t msa_s, int64_t token_z, int64_t head_width, int64_t heads)
    : head_width(head_width),
      heads(heads),
      norm_m(register_module("norm_m", layer_norm(msa_s))),
      norm_z(register_module("norm_z", layer_norm(token_z))),
      proj_m(register_module("proj_m", plain_linear(msa_s, heads * head_width))),
      proj_g(register_module("proj_g", plain_linear(msa_s, heads * head_width))),
      proj_z(register_module("proj_z", plain_linear(token_z, heads))),
      proj_o(register_module("proj_o", zero_linear(heads * head_width, msa_s))) {}

at::Tensor PairWeightedAveragingImpl::forward(const at::Tensor& m, const at::Tensor& z, const at::Tensor& mask,
                                              bool chunk_heads) {
  const at::Tensor normed = norm_m(m), normed_z = norm_z(z);
  if (!chunk_heads) {
    const at::Tensor v = proj_m(normed).unflatten(-1, {heads, head_width});
    const at::Tensor w = weights_of(proj_z(normed_z), mask);
    const at::Tensor o =
        at::einsum("bhij,bsjhd->bsihd", {w, v.to(at::promote_types(v.scalar_type(), w.scalar_type()))});
    return proj_o(at::sigmoid(proj_g(normed)) * o.flatten(3).to(v.scalar_type()));
  }
  at::Tensor out;
  for (int64_t h = 0; h < heads; ++h) {
    const int64_t begin = h * head_width, end = begin + head_width;
    const at::Tensor v = at::linear(normed, proj_m->weight.slice(0, begin, end));
    const at::Tensor w = weights_of(at::linear(normed_z, proj_z->weight.slice(0, h, h + 1)), mask).squeeze(1);
    const at::Tensor o = at::einsum("bij,bsjd->bsid", {w, v.to(at::promote_types(v.scalar_type(), w.scalar_type()))});
    const at::Tensor gate = at::sigmoid(at::linear(normed, proj_g->weight.slice(0, begin, end)));
    const at::Tensor part = at::linear(gate * o.to(v.scalar_type()), proj_o->weight.slice(1, begin, end));
    out = out.defined() ? out + part : part;
  }
  return out;
}

}  // namespace cpize::serial
