// Backward of triangle attention, plain path: head by head, panel by panel, everything computed again from x; then the
// bias and the norm. Only x and the mask were saved.
#include <ATen/ATen.h>

#include <cmath>

#include "trunk/triangle_attention/attention_panels.hpp"

namespace cpize::trunk {
namespace {

class Backward {
 public:
  Backward(const AttentionCall& call, const at::Tensor& x, const at::Tensor& mask, const AttentionWeights& weights,
           const at::Tensor& gradient, const WantedAttention& wanted)
      : call_(call),
        p_(call.precision),
        x_(x),
        dy_(gradient),
        w_(weights.cast(call.precision)),
        keys_(key_bias(mask, call.precision.wide)),
        tokens_(x.size(2)),
        width_(call.head_width),
        through_norm_(wanted[kX] || wanted[kNorm] || wanted[kNormBias]),
        through_bias_(through_norm_ || wanted[kLinear]),
        through_heads_(through_bias_ || wanted[kQ] || wanted[kK] || wanted[kV] || wanted[kG]),
        bias_(bias_rows(call, x, w_)) {
    totals_ = gradient_totals(weights, wanted);
    const auto wide_norm = at::promote_types(p_.norm, at::kFloat);
    if (through_norm_) {
      dnormed_ = call.empty_rows(x.size(3), wide_norm, x.device());
      dnormed_.zero_();
    }
    if (through_bias_) dbias_ = at::empty(bias_.sizes(), x.options().dtype(p_.wide));
  }

  /// dy -> gradients of o, q, k, v, g, of T's rows here, and the share of the gradient of the normalised input that
  /// comes through q, k, v and g.
  void head(std::int64_t h) {
    const at::Tensor whole = call_.whole_bias(bias_.narrow(1, h, 1), call_.rows_spec()).select(1, 0);
    const at::Tensor weights = head_weights(w_, h, width_);
    const at::Tensor total = at::zeros({4 * width_, x_.size(3)}, x_.options().dtype(p_.wide));
    at::Tensor dwhole;
    if (through_bias_) dwhole = at::zeros({x_.size(0), 1, tokens_, tokens_}, keys_.options());
    for (std::int64_t b = 0; b < x_.size(0); ++b) {
      const at::Tensor t = whole.select(0, b).to(p_.wide);
      const at::Tensor dt = through_bias_ ? dwhole.select(0, b).select(0, 0) : at::Tensor();
      for_row_panels(x_.size(1), call_.panels.rows,
                     [&](std::int64_t begin, std::int64_t count) { panel(h, b, begin, count, weights, total, t, dt); });
    }
    add_head_total(totals_.q, total, h, 0);
    add_head_total(totals_.k, total, h, 1);
    add_head_total(totals_.v, total, h, 2);
    add_head_total(totals_.g, total, h, 3);
    if (through_bias_) dbias_.narrow(1, h, 1).copy_(call_.bias_gradient(dwhole, call_.rows_spec()));
  }

  /// Gradients of T's rows and of the normalised input -> those of linear, layer_norm and x, panel by panel.
  at::Tensor norm(bool wants_x, const at::Tensor& place) {
    if (!through_bias_) return {};
    const at::Tensor dx = !wants_x          ? at::Tensor()
                          : place.defined() ? place
                          : dnormed_.scalar_type() == x_.scalar_type()
                              ? dnormed_
                              : call_.empty_rows(x_.size(3), x_.scalar_type(), x_.device());
    for_attention_rows(call_.panels, x_, [&](std::int64_t b, std::int64_t begin, std::int64_t count) {
      const at::Tensor rows = rows_of(x_, b, begin, count).reshape({count * tokens_, -1}).to(p_.norm);
      const NormedRows in = normalise(rows, w_.norm, w_.norm_bias);
      const at::Tensor dbias = dbias_.select(0, b).narrow(1, begin, count).reshape({call_.heads, -1}).t();
      add_weight_gradient(totals_.linear, dbias, in.value.to(p_.operand));
      if (!through_norm_) return;
      const at::Tensor dnormed = rows_of(dnormed_, b, begin, count).reshape({count * tokens_, -1});
      const at::Tensor gradient =
          at::addmm(dnormed, dbias.to(dnormed.scalar_type()), w_.linear.to(dnormed.scalar_type()));
      const at::Tensor panel = normalise_backward(gradient.to(p_.norm), rows, in, w_.norm, w_.norm_bias, totals_.norm,
                                                  totals_.norm_bias, wants_x);
      if (wants_x) rows_of(dx, b, begin, count).copy_(panel.view({count, tokens_, -1}));
    });
    return dx;
  }

  bool through_heads() const { return through_heads_; }

  AttentionWeights result(const AttentionWeights& weights) const { return as_gradients(totals_, weights); }

 private:
  /// One head of one panel of rows.
  void panel(std::int64_t h, std::int64_t b, std::int64_t begin, std::int64_t count, const at::Tensor& weights,
             const at::Tensor& total, const at::Tensor& t, const at::Tensor& dt) {
    const HeadPanel in = head_panel(call_, rows_of(x_, b, begin, count), w_, weights);
    const at::Tensor keys = rows_of(keys_, b, begin, count);
    const at::Tensor dy = rows_of(dy_, b, begin, count).reshape({count * tokens_, -1}).to(p_.operand);
    const at::Tensor gate = in.gate.to(p_.wide).sigmoid_();
    // a = o s with s = sigmoid(gate), y = linear_o a:  do = da s,  dgate = da o s (1 - s)
    const at::Tensor da = matrix_product(p_, dy, w_.o.narrow(1, h * width_, width_)).view({count, tokens_, width_});
    const at::Tensor dout = (da * gate).to(in.v.scalar_type());
    const at::Tensor out = at::empty({count, tokens_, width_}, keys.options());
    const at::Tensor dprojected = at::zeros({count, tokens_, 4 * width_}, keys.options());
    at::Tensor dq = dprojected.narrow(2, 0, width_), dk = dprojected.narrow(2, width_, width_);
    at::Tensor dv = dprojected.narrow(2, 2 * width_, width_), dgate = dprojected.narrow(2, 3 * width_, width_);
    const double scale = 1 / std::sqrt(static_cast<double>(width_));
    for_row_panels(tokens_, call_.panels.queries, [&](std::int64_t first, std::int64_t queries) {
      const at::Tensor g = dout.narrow(1, first, queries);
      const at::Tensor weights_of_keys = attention_weights(call_, in, first, queries, t, keys);
      out.narrow(1, first, queries).copy_(product(p_, weights_of_keys, in.v));
      if (!through_heads_) return;
      // ds = p (dp - sum(dp p)),  dp = do v^T
      const at::Tensor ds = at::_softmax_backward_data(product(p_, g, in.v.mT()), weights_of_keys, -1, p_.wide);
      dv.add_(product(p_, weights_of_keys.mT(), g));
      if (dt.defined()) dt.narrow(0, first, queries).add_(count == 1 ? ds.select(0, 0) : ds.sum(0));
      dq.narrow(1, first, queries).copy_(product(p_, ds, in.k).mul_(scale));
      dk.add_(product(p_, ds.mT(), in.q.narrow(1, first, queries)), scale);
    });
    if (totals_.o.defined())
      add_weight_gradient(totals_.o.narrow(1, h * width_, width_), dy,
                          (out * gate).view({count * tokens_, width_}).to(p_.operand));
    if (!through_heads_) return;
    at::mul_out(dgate, da.mul_(out).mul_(gate), 1 - gate);
    const at::Tensor gradient = dprojected.view({count * tokens_, 4 * width_}).to(p_.operand);
    add_weight_gradient(total, gradient, in.normed);
    if (through_norm_)
      rows_of(dnormed_, b, begin, count).add_(matrix_product(p_, gradient, weights).view({count, tokens_, -1}));
  }

  void add_head_total(const at::Tensor& weight_total, const at::Tensor& total, std::int64_t h,
                      std::int64_t part) const {
    if (weight_total.defined()) weight_total.narrow(0, h * width_, width_).add_(total.narrow(0, part * width_, width_));
  }

  const AttentionCall& call_;
  const Precision& p_;
  const at::Tensor &x_, &dy_;
  const AttentionWeights w_;
  const at::Tensor keys_;
  const std::int64_t tokens_, width_;
  const bool through_norm_, through_bias_, through_heads_;
  const at::Tensor bias_;  // this rank's rows of T, [B, H, rows here, N]
  AttentionWeights totals_;
  at::Tensor dnormed_;  // gradient of the normalised input, core form, at least fp32
  at::Tensor dbias_;    // of this rank's rows of T, [B, H, rows here, N], wide
};

}  // namespace

AttentionGradients attention_backward(const AttentionCall& call, const at::Tensor& x, const at::Tensor& mask,
                                      const AttentionWeights& weights, const at::Tensor& gradient,
                                      const WantedAttention& wanted, bool consume_gradient) {
  Backward backward(call, x, mask, weights, gradient, wanted);
  for (std::int64_t h = 0; h < call.heads; ++h) backward.head(h);
  const bool reuse = consume_gradient && gradient.scalar_type() == x.scalar_type();
  const at::Tensor dx = backward.norm(wanted[kX], reuse ? gradient : at::Tensor());
  return {dx, backward.result(weights)};
}

}  // namespace cpize::trunk
