// Backward of pair-weighted averaging, by groups of heads and panels of MSA rows like forward. Only the inputs and the
// logits were saved: the weights are exchanged again, values, averages and gates computed again.
#include <ATen/ATen.h>

#include "trunk/msa/averaging_panels.hpp"
#include "trunk/msa/wide_products.hpp"

namespace cpize::trunk {
namespace {

enum Wanted { kM, kZ, kNormM, kNormMBias, kNormZ, kNormZBias, kProjM, kProjG, kProjZ, kProjO };

class Backward {
 public:
  Backward(const AveragingCall& call, const at::Tensor& m, const AveragingWeights& weights, const at::Tensor& gradient,
           const std::array<bool, 10>& wanted)
      : call_(call),
        p_(call.precision),
        m_(m),
        gradient_(gradient),
        w_(weights.cast(call.precision)),
        through_norm_(wanted[kM] || wanted[kNormM] || wanted[kNormMBias]),
        through_weights_(wanted[kZ] || wanted[kNormZ] || wanted[kNormZBias] || wanted[kProjZ]) {
    totals_ = {gradient_total(weights.norm_m, wanted[kNormM]),
               gradient_total(weights.norm_m_bias, wanted[kNormMBias]),
               {},
               {},
               gradient_total(weights.proj_m, wanted[kProjM]),
               gradient_total(weights.proj_g, wanted[kProjG]),
               {},
               gradient_total(weights.proj_o, wanted[kProjO])};
    if (wanted[kM]) dm_ = at::empty(m.sizes(), m.options());
    if (through_norm_) dnormed_ = at::zeros({m.size(0), m.size(1) * m.size(2), m.size(3)}, m.options().dtype(p_.wide));
    if (through_weights_) {
      Shape shape = call.logits.sizes().vec();
      dlogits_ = at::empty(shape, call.logits.options().dtype(p_.wide));
    }
  }

  void group(const HeadGroup& group, bool last) {
    const at::Tensor weights = whole_weights(call_, group), averages = weights.to(p_.operand);
    const at::Tensor dweights = through_weights_ ? at::zeros_like(weights) : at::Tensor();
    for_msa_panels(m_, call_.depth, [&](std::int64_t sample, std::int64_t begin, std::int64_t count) {
      panel(group, averages[sample], through_weights_ ? dweights[sample] : at::Tensor(), sample, begin, count, last);
    });
    if (through_weights_)
      dlogits_.narrow(3, group.begin, group.size).copy_(logit_gradients(call_, group, weights, dweights));
  }

  bool through_weights() const { return through_weights_; }
  const at::Tensor& dlogits() const { return dlogits_; }
  const at::Tensor& dm() const { return dm_; }
  const AveragingWeights& totals() const { return totals_; }

 private:
  /// y = proj_o(s o) with s = sigmoid(proj_g n), o = w v, v = proj_m n, for the heads of a group.
  void panel(const HeadGroup& group, const at::Tensor& averages, const at::Tensor& dweights, std::int64_t sample,
             std::int64_t begin, std::int64_t count, bool last) {
    const at::Tensor rows = token_rows(m_[sample], begin, count).to(p_.norm);
    const NormedRows in = normalise(rows, w_.norm_m, w_.norm_m_bias);
    const at::Tensor normed = in.value.to(p_.operand);
    const at::Tensor dy = token_rows(gradient_[sample], begin, count).to(p_.operand);
    const at::Tensor dnormed =
        through_norm_ ? dnormed_[sample].narrow(0, begin * m_.size(2), count * m_.size(2)) : at::Tensor();
    const at::Tensor gates = heads_of(w_.proj_g, 0, call_, group.begin, group.size);
    const at::Tensor gated = at::mm(normed, gates.t()).sigmoid_();                                 // becomes s o
    const at::Tensor dgated = at::mm(dy, heads_of(w_.proj_o, 1, call_, group.begin, group.size));  // becomes d proj_g n
    for (std::int64_t h = 0; h < group.size; ++h) {
      const at::Tensor values = heads_of(w_.proj_m, 0, call_, group.begin + h);
      const at::Tensor s = heads_of(gated, 1, call_, h), ds = heads_of(dgated, 1, call_, h);
      const at::Tensor v = at::mm(normed, values.t());
      const at::Tensor o = narrow_product(averages[h], by_token(v, count), p_.wide).view(v.sizes());
      const at::Tensor d_o = (ds * s).contiguous();
      ds.copy_((1 - s).mul_(o).mul_(d_o));  // d(s o) o s (1 - s)
      s.mul_(o);
      const at::Tensor dv = narrow_product(averages[h].t(), by_token(d_o, count), p_.wide).view(v.sizes());
      if (dweights.defined()) dweights[h].add_(wide_product(by_token(d_o, count), by_token(v, count).t(), p_.wide));
      if (totals_.proj_m.defined()) add_panel_gradient(heads_of(totals_.proj_m, 0, call_, group.begin + h), dv, normed);
      add_input_gradient(dnormed, dv, values);
    }
    if (totals_.proj_g.defined())
      add_panel_gradient(heads_of(totals_.proj_g, 0, call_, group.begin, group.size), dgated, normed);
    if (totals_.proj_o.defined())
      add_panel_gradient(heads_of(totals_.proj_o, 1, call_, group.begin, group.size), dy, gated);
    add_input_gradient(dnormed, dgated, gates);
    if (!last || !through_norm_) return;
    const at::Tensor dx = normalise_backward(dnormed.to(p_.norm), rows, in, w_.norm_m, w_.norm_m_bias, totals_.norm_m,
                                             totals_.norm_m_bias, dm_.defined());
    if (dm_.defined()) dm_[sample].narrow(0, begin, count).copy_(msa_rows(dx, count));
  }

  const AveragingCall& call_;
  const Precision& p_;
  const at::Tensor &m_, &gradient_;
  const AveragingWeights w_;
  const bool through_norm_, through_weights_;
  AveragingWeights totals_;
  at::Tensor dm_;
  at::Tensor dnormed_;  // [B, s N, msa_s]: of the normalised m, added up over the heads, panel after panel
  at::Tensor dlogits_;  // [B,n0,n1,H]
};

}  // namespace

AveragingGradients averaging_backward(const AveragingCall& call, const at::Tensor& m, const at::Tensor& pairs,
                                      const AveragingWeights& weights, const at::Tensor& gradient,
                                      const std::array<bool, 10>& wanted) {
  AveragingGradients result;
  at::Tensor dlogits;
  {
    Backward backward(call, m, weights, gradient, wanted);
    for (const HeadGroup& group : call.groups) backward.group(group, &group == &call.groups.back());
    const auto& t = backward.totals();
    result.m = backward.dm();
    result.weights = {as_gradient(t.norm_m, weights.norm_m),
                      as_gradient(t.norm_m_bias, weights.norm_m_bias),
                      {},
                      {},
                      as_gradient(t.proj_m, weights.proj_m),
                      as_gradient(t.proj_g, weights.proj_g),
                      {},
                      as_gradient(t.proj_o, weights.proj_o)};
    if (!backward.through_weights()) return result;
    dlogits = backward.dlogits();
  }  // what belongs to the MSA is released before the pairs begin
  const PairGradients of_pairs =
      pair_gradients(call, dlogits, pairs, weights, {wanted[kZ], wanted[kNormZ], wanted[kNormZBias], wanted[kProjZ]});
  result.z = of_pairs.z;
  result.weights.norm_z = of_pairs.norm_z;
  result.weights.norm_z_bias = of_pairs.norm_z_bias;
  result.weights.proj_z = of_pairs.proj_z;
  return result;
}

}  // namespace cpize::trunk
