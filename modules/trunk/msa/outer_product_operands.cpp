// The operands of the outer product mean: projected where the MSA rests, exchanged to the tokens, and the way back of
// their gradients.
#include <ATen/ATen.h>

#include <utility>

#include "trunk/msa/outer_product_function.hpp"
#include "trunk/msa/wide_products.hpp"
#include "trunk/row_panels.hpp"

namespace cpize::trunk {
namespace {

struct Cast {
  at::Tensor norm, norm_bias, operands;  // operands: proj_a above proj_b, [2 h, msa_s]
  Cast(const OuterProductWeights& w, const Precision& p)
      : norm(w.norm.to(p.norm)),
        norm_bias(w.norm_bias.to(p.norm)),
        operands(at::cat({w.proj_a, w.proj_b}).to(p.operand)) {}
};

/// This rank's rows of `x` [positions here, channels] as [B,s,N,channels].
at::Tensor as_shard(const OuterProductCall& call, const at::Tensor& x) {
  return x.view(box_of(Msa::spec, call.shape(x.size(1)), call.mesh->shape(), call.mesh->coordinates()).size);
}

at::Tensor to_tokens(const OuterProductCall& call, at::Tensor local, const Spec& to) {
  const Shape global = call.shape(local.size(3));
  return ExchangeInFlight(std::move(local), Msa::spec, to, global, call.mesh).finish();
}

/// A gradient in layout `from`, a partial sum over the ranks that share its tokens, back to the rows.
at::Tensor to_rows(const OuterProductCall& call, at::Tensor local, const Spec& from) {
  const Shape global = call.shape(local.size(3));
  return ExchangeInFlight(std::move(local), dual(from), dual(Msa::spec), global, call.mesh).finish();
}

}  // namespace

void make_operands(OuterProductCall& call, const at::Tensor& rows, const at::Tensor& mask,
                   const OuterProductWeights& weights) {
  const Precision& p = call.precision;
  const std::int64_t h = call.hidden;
  const Cast w(weights, p);
  const auto options = rows.options().dtype(p.operand);
  at::Tensor a = at::empty({rows.size(0), h}, options), b = at::empty({rows.size(0), h}, options);
  for_row_panels(rows.size(0), call.panel, [&](std::int64_t begin, std::int64_t count) {
    const at::Tensor normed =
        normalise(rows.narrow(0, begin, count).to(p.norm), w.norm, w.norm_bias).value.to(p.operand);
    const at::Tensor both = at::mm(normed, w.operands.t()), valid = mask.narrow(0, begin, count);
    at::Tensor a_panel = a.narrow(0, begin, count), b_panel = b.narrow(0, begin, count);
    at::mul_out(a_panel, both.narrow(1, 0, h), valid);
    at::mul_out(b_panel, both.narrow(1, h, h), valid);
  });
  call.a = to_tokens(call, as_shard(call, std::exchange(a, {})), MsaRow::spec);
  call.b = to_tokens(call, as_shard(call, std::exchange(b, {})), MsaCol::spec).transpose(2, 3).contiguous();
  // Zeros and ones are exact in the operand's dtype; their sums are taken in a wider one.
  const at::Tensor of_rows = to_tokens(call, as_shard(call, mask), MsaRow::spec).squeeze(3).to(p.wide);
  const at::Tensor of_columns = to_tokens(call, as_shard(call, mask), MsaCol::spec).squeeze(3).to(p.wide);
  call.count = at::bmm(of_rows.mT(), of_columns).clamp_min_(1);
}

OperandGradients operand_gradients(const OuterProductCall& call, at::Tensor da, at::Tensor db, const at::Tensor& rows,
                                   const at::Tensor& mask, const OuterProductWeights& weights,
                                   const std::array<bool, 7>& wanted) {
  const Precision& p = call.precision;
  const std::int64_t h = call.hidden;
  const Cast w(weights, p);
  const at::Tensor a_rows = to_rows(call, std::move(da), MsaRow::spec).reshape({-1, h});
  const at::Tensor b_rows = to_rows(call, db.transpose(2, 3), MsaCol::spec).reshape({-1, h});
  db.reset();
  const at::Tensor norm = gradient_total(weights.norm, wanted[1]), bias = gradient_total(weights.norm_bias, wanted[2]);
  const at::Tensor proj_a = gradient_total(weights.proj_a, wanted[3]);
  const at::Tensor proj_b = gradient_total(weights.proj_b, wanted[4]);
  const bool through_norm = wanted[0] || wanted[1] || wanted[2];
  at::Tensor dm = wanted[0] ? at::empty(rows.sizes(), rows.options()) : at::Tensor();
  for_row_panels(rows.size(0), call.panel, [&](std::int64_t begin, std::int64_t count) {
    const at::Tensor x = rows.narrow(0, begin, count).to(p.norm), valid = mask.narrow(0, begin, count);
    const NormedRows in = normalise(x, w.norm, w.norm_bias);
    const at::Tensor normed = in.value.to(p.operand);
    const at::Tensor both = at::cat({a_rows.narrow(0, begin, count), b_rows.narrow(0, begin, count)}, 1).mul_(valid);
    add_panel_gradient(proj_a, both.narrow(1, 0, h), normed);
    add_panel_gradient(proj_b, both.narrow(1, h, h), normed);
    if (!through_norm) return;
    const at::Tensor dnormed = at::mm(both, w.operands).to(p.norm);
    const at::Tensor dx = normalise_backward(dnormed, x, in, w.norm, w.norm_bias, norm, bias, wanted[0]);
    if (wanted[0]) dm.narrow(0, begin, count).copy_(dx);
  });
  return {dm, as_gradient(norm, weights.norm), as_gradient(bias, weights.norm_bias),
          as_gradient(proj_a, weights.proj_a), as_gradient(proj_b, weights.proj_b)};
}

}  // namespace cpize::trunk
