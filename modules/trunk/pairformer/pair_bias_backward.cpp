// Backward of the attention with pair bias. With e = exp(logit - maximum) and D the denominator over all keys, the
// weights are e / D, so the gradient of the logits is  dl = e (do'.v - delta')  with do' = do / D and delta' = o.do /
// D: both travel to the rows in one exchange, and neither the scores nor D do. Scores are computed again by panels.
#include <ATen/ATen.h>

#include <cmath>

#include "trunk/pairformer/pair_bias_function.hpp"
#include "trunk/pairformer/pair_bias_fused.hpp"

namespace cpize::trunk {
namespace {

enum Wanted { kQ, kKIn, kZ, kKey, kValue, kNorm, kNormBias, kBias };

class Backward {
 public:
  Backward(PairBiasCall& call, const at::Tensor& z, const PairBiasWeights& weights, const std::array<bool, 8>& wanted)
      : call_(call), z_(z), w_(weights), wanted_(wanted) {
    const auto total = [&](const at::Tensor& weight, Wanted which) { return gradient_total(weight, wanted[which]); };
    totals_ = {total(weights.key, kKey), total(weights.value, kValue), total(weights.norm, kNorm),
               total(weights.norm_bias, kNormBias), total(weights.bias, kBias)};
    if (wanted[kZ]) dz_ = at::empty(z.sizes(), z.options());
  }

  /// do [b, tokens owned, M, C] -> do' and delta' of the row tokens, [b,n,M,H,d+1].
  at::Tensor to_rows(const at::Tensor& gradient) const {
    const std::int64_t d = call_.width;
    const at::Tensor denominators = call_.sums.narrow(-1, d, 1), o = call_.sums.narrow(-1, 0, d) / denominators;
    at::Tensor packed = at::empty_like(call_.sums);
    at::Tensor scaled = packed.narrow(-1, 0, d), delta = packed.narrow(-1, d, 1);
    at::div_out(scaled, gradient.reshape(o.sizes()).to(call_.precision.wide), denominators);
    // The gradients of scores are differences to delta, which cancel where few keys are left: without a digit lost.
    delta.copy_((scaled.to(at::kDouble) * o).sum(-1, /*keepdim=*/true));
    return ExchangeInFlight(std::move(packed), Single::spec, SingleRow::spec, sums_shape(), call_.mesh)
        .finish()
        .contiguous();
  }

  /// The scores again, by panels of rows: gradients of q, k, v of the tokens here, and of z.
  void scores(const at::Tensor& gradient) {
    const std::int64_t rows = z_.size(1), columns = z_.size(2), d = call_.width;
    const auto [keys, values] = keys_and_values(call_, call_.column_tokens, w_);
    const at::Tensor queries = call_.by_head(call_.row_queries).mul_(1 / std::sqrt(static_cast<double>(d)));
    const at::Tensor packed = call_.by_head(gradient), maxima = call_.by_head(call_.maxima);
    const at::Tensor dout = packed.narrow(-1, 0, d), delta = packed.narrow(-1, d, 1);
    dqueries_ = at::zeros_like(queries);
    dkeys_ = at::zeros_like(keys);
    dvalues_ = at::zeros_like(values);
    for (std::int64_t b = 0; b < z_.size(0) && columns > 0; ++b)
      for_row_panels(rows, call_.rows, [&](std::int64_t begin, std::int64_t count) {
        const auto panel = [&](const at::Tensor& x) { return x[b].narrow(1, begin, count); };
        const at::Tensor z = z_[b].narrow(0, begin, count);
        std::optional<BiasPanel> bias;
        at::Tensor e = panel_logits(call_, panel(queries), keys[b], z, w_, call_.excluded[b], &bias);
        e.sub_(panel(maxima)).exp_();
        dvalues_[b].baddbmm_(e.transpose(1, 2), panel(dout));
        const at::Tensor dl = score_gradients(panel(dout), values[b], panel(delta), e);
        e.reset();
        panel(dqueries_).copy_(at::bmm(dl, keys[b]));
        dkeys_[b].baddbmm_(dl.transpose(1, 2), panel(queries));
        if (!through_bias()) return;
        if (call_.fused)
          fused_pair_gradients(b, begin, count, z, dl);
        else
          pair_gradients(b, begin, count, *bias, dl);
      });
    if (fused_sum_.defined()) add_fused_bias_gradients(fused_sum_, w_, totals_);
    dqueries_.mul_(1 / std::sqrt(static_cast<double>(d)));
  }

  at::Tensor query_gradient() const {
    return ExchangeInFlight(call_.by_token(dqueries_), Partial<SingleRow, cp1>::spec, Single::spec, call_.queries,
                            call_.mesh)
        .finish();
  }

  /// Gradients of k and v -> those of k_in and of their projections.
  at::Tensor token_gradient() {
    const auto as_rows = [](const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); };
    const auto operand = call_.precision.operand;
    const at::Tensor tokens = as_rows(call_.column_tokens);
    const at::Tensor dk = as_rows(call_.by_token(dkeys_)).to(operand);
    const at::Tensor dv = as_rows(call_.by_token(dvalues_)).to(operand);
    add_weight_gradient(totals_.key, dk, tokens);
    add_weight_gradient(totals_.value, dv, tokens);
    if (!wanted_[kKIn]) return {};
    at::Tensor dtokens = at::zeros(call_.column_tokens.sizes(), dkeys_.options());
    const at::Tensor flat = dtokens.view({tokens.size(0), tokens.size(1)});
    add_input_gradient(flat, dk, w_.key.to(operand));
    add_input_gradient(flat, dv, w_.value.to(operand));
    return ExchangeInFlight(std::move(dtokens), Partial<SingleCol, cp0>::spec, Single::spec, call_.keys, call_.mesh)
        .finish();
  }

  PairBiasGradients result(const at::Tensor& q, const at::Tensor& k_in) const {
    const auto like = [](const at::Tensor& gradient, const at::Tensor& x) {
      return gradient.defined() ? gradient.to(x.scalar_type()).view(x.sizes()) : gradient;
    };
    return {like(dq, q),
            like(dk_in, k_in),
            dz_,
            {as_gradient(totals_.key, w_.key), as_gradient(totals_.value, w_.value), as_gradient(totals_.norm, w_.norm),
             as_gradient(totals_.norm_bias, w_.norm_bias), as_gradient(totals_.bias, w_.bias)}};
  }

  at::Tensor dq, dk_in;

 private:
  Shape sums_shape() const { return {call_.queries[0], call_.queries[1], call_.copies, call_.heads, call_.width + 1}; }
  bool through_norm() const { return wanted_[kZ] || wanted_[kNorm] || wanted_[kNormBias]; }
  bool through_bias() const { return through_norm() || wanted_[kBias]; }

  /// e (do v^T - delta). Where few keys are left the difference cancels, and in fp32 its rounding would stand for a
  /// gradient of zero: there it is taken in fp64.
  at::Tensor score_gradients(const at::Tensor& dout, const at::Tensor& values, const at::Tensor& delta,
                             const at::Tensor& e) const {
    const auto exact = call_.precision.operand == at::kFloat ? at::kDouble : dout.scalar_type();
    return at::bmm(dout.to(exact), values.to(exact).transpose(1, 2)).sub_(delta).mul_(e).to(dout.scalar_type());
  }

  /// The same through the kernels: dl -> gradient of z, and the sum of what the gradients of the weights are made of.
  void fused_pair_gradients(std::int64_t b, std::int64_t begin, std::int64_t count, const at::Tensor& z,
                            const at::Tensor& dl) {
    const at::Tensor dbias = call_.copies == 1 ? dl : dl.view({call_.copies, call_.heads, count, -1}).sum(0);
    const at::Tensor sum =
        fused_bias_backward(dbias, z, w_, wanted_[kZ] ? dz_[b].narrow(0, begin, count) : at::Tensor());
    if (fused_sum_.defined())
      fused_sum_.add_(sum);
    else
      fused_sum_ = sum;
  }

  /// dl [M*H, rows, m] of a panel -> gradients of the bias, of its projection and norm, and of z.
  void pair_gradients(std::int64_t b, std::int64_t begin, std::int64_t count, const BiasPanel& panel,
                      const at::Tensor& dl) {
    at::Tensor dbias = dl.view({call_.copies, call_.heads, count, -1}).sum(0).permute({1, 2, 0});
    dbias = dbias.reshape({-1, call_.heads}).to(panel.bias.scalar_type());
    const auto keep = [&](const at::Tensor& dz) {
      if (!wanted_[kZ]) return;
      at::Tensor target = dz_[b].narrow(0, begin, count);
      target.copy_(dz.view(target.sizes()));
    };
    if (!call_.projected) return keep(dbias);
    const auto operand = call_.precision.operand;
    add_weight_gradient(totals_.bias, dbias, panel.operand);
    if (!through_norm()) return;
    const at::Tensor dnormed = at::mm(dbias, w_.bias.to(operand)).to(call_.norm);
    keep(normalise_backward(dnormed, panel.rows, panel.normed, w_.norm.to(call_.norm), w_.norm_bias.to(call_.norm),
                            totals_.norm, totals_.norm_bias, wanted_[kZ]));
  }

  PairBiasCall& call_;
  const at::Tensor& z_;
  const PairBiasWeights& w_;
  const std::array<bool, 8>& wanted_;
  PairBiasWeights totals_;
  at::Tensor dz_, fused_sum_;
  at::Tensor dqueries_, dkeys_, dvalues_;  // [b,M*H,t,d], of the row and column tokens
};

}  // namespace

PairBiasGradients pair_bias_backward(PairBiasCall& call, const at::Tensor& q, const at::Tensor& k_in,
                                     const at::Tensor& z, const PairBiasWeights& weights, const at::Tensor& gradient,
                                     const std::array<bool, 8>& wanted, bool consume) {
  Backward backward(call, z, weights, wanted);
  at::Tensor rows = backward.to_rows(gradient);
  if (consume) call.sums.reset();
  backward.scores(rows);
  rows.reset();
  if (consume) call.row_queries = call.maxima = at::Tensor();
  if (wanted[kQ]) backward.dq = backward.query_gradient();
  backward.dk_in = backward.token_gradient();
  if (consume) call.column_tokens.reset();
  return backward.result(q, k_in);
}

}  // namespace cpize::trunk
