// The weights of pair-weighted averaging: logits where the pairs rest, whole weights of a few heads on every rank, and
// the way back of their gradient.
#include <ATen/ATen.h>

#include "layout/max_over.hpp"
#include "trunk/msa/averaging_function.hpp"
#include "trunk/msa/wide_products.hpp"
#include "trunk/row_panels.hpp"

namespace cpize::trunk {
namespace {

constexpr double kMaskedLogit = -1e6;
/// All pairs on each rank, a head after the other.
constexpr Spec kWholeByHead = stored(PairWhole::spec, {0, 3, 1, 2, 4, 5});

/// 1 where the row token has a valid partner among all columns, [B,n0,1].
at::Tensor has_partner(const Sharded<Pair>& mask) {
  const at::Tensor here = mask.local().ne(0).any(2);
  const Shape& pairs = mask.global();
  return max_over<Axis::cp1>(wrap<SingleRow>(here.to(at::kFloat), {pairs[0], pairs[1]}, mask.mesh()))
      .local()
      .unsqueeze(2);
}

Shape shape_of(const AveragingCall& call, std::int64_t heads) {
  return {call.pairs[0], call.pairs[1], call.pairs[2], heads};
}

}  // namespace

void make_logits(AveragingCall& call, const at::Tensor& pairs, const Sharded<Pair>& mask,
                 const AveragingWeights& weights) {
  const Precision& p = call.precision;
  const AveragingWeights w = weights.cast(p);
  const at::Tensor penalty = ((1 - mask.local().to(p.wide)) * has_partner(mask) * kMaskedLogit).reshape({-1, 1});
  at::Tensor logits = at::empty({pairs.size(0), call.heads}, pairs.options().dtype(p.operand));
  for_row_panels(pairs.size(0), call.panel, [&](std::int64_t begin, std::int64_t count) {
    const at::Tensor normed =
        normalise(pairs.narrow(0, begin, count).to(p.norm), w.norm_z, w.norm_z_bias).value.to(p.operand);
    logits.narrow(0, begin, count).copy_(at::mm(normed, w.proj_z.t()).to(p.wide).add_(penalty.narrow(0, begin, count)));
  });
  Shape here = mask.local().sizes().vec();
  here.push_back(call.heads);
  call.logits = logits.view(here);
}

at::Tensor whole_weights(const AveragingCall& call, const HeadGroup& group) {
  const at::Tensor logits = ExchangeInFlight(call.logits.narrow(3, group.begin, group.size), Pair::spec, kWholeByHead,
                                             shape_of(call, group.size), call.mesh)
                                .finish();
  return at::softmax(logits.permute({0, 3, 1, 2}), -1, call.precision.wide);
}

at::Tensor logit_gradients(const AveragingCall& call, const HeadGroup& group, const at::Tensor& weights,
                           const at::Tensor& gradient) {
  at::Tensor whole = at::_softmax_backward_data(gradient, weights, -1, weights.scalar_type()).permute({0, 2, 3, 1});
  return ExchangeInFlight(std::move(whole), dual(kWholeByHead), dual(Pair::spec), shape_of(call, group.size), call.mesh)
      .finish();
}

PairGradients pair_gradients(const AveragingCall& call, const at::Tensor& dlogits, const at::Tensor& pairs,
                             const AveragingWeights& weights, const std::array<bool, 4>& wanted) {
  const Precision& p = call.precision;
  const AveragingWeights w = weights.cast(p);
  const at::Tensor gradient = dlogits.reshape({-1, call.heads});
  const at::Tensor norm = gradient_total(weights.norm_z, wanted[1]);
  const at::Tensor bias = gradient_total(weights.norm_z_bias, wanted[2]);
  const at::Tensor proj_z = gradient_total(weights.proj_z, wanted[3]);
  at::Tensor dz = wanted[0] ? at::empty(pairs.sizes(), pairs.options()) : at::Tensor();
  for_row_panels(pairs.size(0), call.panel, [&](std::int64_t begin, std::int64_t count) {
    const at::Tensor x = pairs.narrow(0, begin, count).to(p.norm);
    const at::Tensor g = gradient.narrow(0, begin, count).to(p.operand);
    const NormedRows in = normalise(x, w.norm_z, w.norm_z_bias);
    add_panel_gradient(proj_z, g, in.value.to(p.operand));
    if (!wanted[0] && !wanted[1] && !wanted[2]) return;
    const at::Tensor dx =
        normalise_backward(at::mm(g, w.proj_z).to(p.norm), x, in, w.norm_z, w.norm_z_bias, norm, bias, wanted[0]);
    if (wanted[0]) dz.narrow(0, begin, count).copy_(dx);
  });
  return {dz, as_gradient(norm, weights.norm_z), as_gradient(bias, weights.norm_z_bias),
          as_gradient(proj_z, weights.proj_z)};
}

}  // namespace cpize::trunk
