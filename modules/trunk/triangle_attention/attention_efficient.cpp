#include "trunk/triangle_attention/attention_efficient.hpp"

#include <ATen/ATen.h>

#include <cmath>

#include "trunk/triangle_attention/attention_panels.hpp"

namespace cpize::trunk {
namespace {

constexpr std::int64_t kEight = 8;

std::int64_t to_eights(std::int64_t n) { return (n + kEight - 1) / kEight * kEight; }

/// The whole T of all heads, [B, H, N, N], its rows stored in eights.
at::Tensor bias_in_eights(const AttentionCall& call, const at::Tensor& x, const AttentionWeights& w) {
  const at::Tensor whole = call.whole_bias(bias_rows(call, x, w), call.rows_spec());
  const std::int64_t n = whole.size(3);
  const at::Tensor stored = at::empty({whole.size(0), call.heads, n, to_eights(n)}, whole.options()).narrow(3, 0, n);
  at::Tensor(stored).copy_(whole);
  return stored;
}

/// Forward has no scores: as many rows as other panels of pairs have.
std::int64_t forward_rows(const at::Tensor& x) {
  const std::int64_t pairs = x.size(1) * x.size(2);
  return std::max<std::int64_t>(1, panel_rows(pairs, 16, 0, /*on_gpu=*/true) / std::max<std::int64_t>(1, x.size(2)));
}

/// Backward has the gradients of T of all rows of a panel, b at most; in a fixed order a row and head is one block of a
/// GPU, of which more than 128 do not help.
std::int64_t backward_rows(const AttentionCall& call, const at::Tensor& x) {
  const std::int64_t of_row = call.heads * x.size(2) * x.size(2);
  return std::clamp<std::int64_t>(x.numel() / std::max<std::int64_t>(1, of_row), 1,
                                  std::max<std::int64_t>(1, 128 / call.heads));
}

/// q, k, v and the gate of all heads of a panel, and what the library makes of them.
struct Attended {
  NormedRows norm;
  at::Tensor normed;     // [rows N, C] in the operand's dtype
  at::Tensor gate;       // [rows, N, H d], after the sigmoid
  at::Tensor q, k, v;    // [rows, N, H, channels in eights]
  at::Tensor bias;       // [rows, H, N, N], a step of 0 between rows
  at::Tensor out, logs;  // [rows, N, H, channels in eights]
  at::Tensor seed, offset;

  /// x [rows, N, C], keys [rows, N] of key_bias(), bias [H, N, N].
  Attended(const AttentionCall& call, const AttentionWeights& w, const at::Tensor& x, const at::Tensor& keys,
           const at::Tensor& whole, bool for_backward) {
    const auto& p = call.precision;
    const std::int64_t rows = x.size(0), n = x.size(1), d = call.head_width, width = call.heads * d;
    norm = normalise(x.reshape({rows * n, -1}).to(p.norm), w.norm, w.norm_bias);
    normed = norm.value.to(p.operand);
    gate = at::mm(normed, w.g.t()).view({rows, n, width}).sigmoid_();
    const auto heads = [&](const at::Tensor& weight, std::int64_t channels) {
      at::Tensor all = at::zeros({rows, n, call.heads, channels}, normed.options());
      all.narrow(3, 0, d).copy_(at::mm(normed, weight.t()).view({rows, n, call.heads, d}));
      return all;
    };
    const std::int64_t with_mask = to_eights(d + 1);
    q = heads(w.q, with_mask);
    k = heads(w.k, with_mask);
    v = heads(w.v, to_eights(d));
    q.select(3, d).fill_(1);
    k.select(3, d).copy_(keys.unsqueeze(2).expand({rows, n, call.heads}));
    bias = whole.unsqueeze(0).expand({rows, call.heads, n, n});
    std::tie(out, logs, seed, offset, std::ignore, std::ignore) = at::_efficient_attention_forward(
        q, k, v, bias, {}, {}, std::nullopt, std::nullopt, 0.0, 0, for_backward, scale(call));
  }

  static double scale(const AttentionCall& call) { return 1 / std::sqrt(static_cast<double>(call.head_width)); }
  /// o before the gate, [rows, N, H d].
  at::Tensor heads_of(const AttentionCall& call) const {
    return out.narrow(3, 0, call.head_width).reshape(gate.sizes());
  }
};

class Backward {
 public:
  Backward(const AttentionCall& call, const at::Tensor& x, const at::Tensor& mask, const AttentionWeights& weights,
           const at::Tensor& gradient, const WantedAttention& wanted)
      : call_(call),
        p_(call.precision),
        panels_{backward_rows(call, x), x.size(2)},
        x_(x),
        dy_(gradient),
        w_(weights.cast(call.precision)),
        keys_(key_bias(mask, call.precision.wide)),
        n_(x.size(2)),
        wanted_(wanted),
        through_norm_(wanted[kX] || wanted[kNorm] || wanted[kNormBias]),
        through_bias_(through_norm_ || wanted[kLinear]) {
    totals_ = gradient_totals(weights, wanted);
    if (wanted[kX]) dx_ = call.empty_rows(x.size(3), x.scalar_type(), x.device());
  }

  /// All but what comes through T; then that.
  AttentionGradients run(const AttentionWeights& weights) {
    const at::Tensor whole = bias_in_eights(call_, x_, w_);
    at::Tensor dwhole;
    if (through_bias_) dwhole = at::zeros({x_.size(0), call_.heads, n_, n_}, keys_.options());
    for_attention_rows(panels_, x_, [&](std::int64_t b, std::int64_t begin, std::int64_t count) {
      rows(b, begin, count, whole[b], through_bias_ ? dwhole[b] : at::Tensor());
    });
    if (through_bias_) bias(call_.bias_gradient(dwhole, call_.rows_spec()));
    return {dx_, as_gradients(totals_, weights)};
  }

 private:
  void rows(std::int64_t b, std::int64_t begin, std::int64_t count, const at::Tensor& whole, const at::Tensor& dbias) {
    const at::Tensor x = rows_of(x_, b, begin, count);
    const std::int64_t d = call_.head_width, width = call_.heads * d;
    const Attended in(call_, w_, x, rows_of(keys_, b, begin, count), whole, true);
    const at::Tensor dy = rows_of(dy_, b, begin, count).reshape({count * n_, -1}).to(p_.operand);
    const at::Tensor o = in.heads_of(call_), gate = in.gate;
    // a = o s, y = linear_o a:  do = da s,  dgate = da o s (1 - s)
    const at::Tensor da = at::mm(dy, w_.o).view({count, n_, width});
    add_weight_gradient(totals_.o, dy, (o * gate).view({count * n_, width}));
    at::Tensor dout = at::zeros_like(in.v);
    dout.narrow(3, 0, d).copy_((da * gate).view({count, n_, call_.heads, d}));
    const at::Tensor dgate = (da * o).mul_(gate).mul_(1 - gate);
    auto [dq, dk, dv, drows] = at::_efficient_attention_backward(
        dout, in.q, in.k, in.v, in.bias, in.out, {}, {}, n_, n_, in.logs, 0.0, in.seed, in.offset, 0, dbias.defined(),
        Attended::scale(call_), /*num_splits_key=*/1);  // one: in a fixed order, so that it repeats
    if (dbias.defined()) at::Tensor(dbias).add_(drows.sum(0, /*keepdim=*/false, dbias.scalar_type()));
    at::Tensor dnormed;
    if (through_norm_) dnormed = at::zeros({count * n_, x.size(2)}, x.options().dtype(p_.wide));
    const auto back = [&](const at::Tensor& gradient, const at::Tensor& weight, const at::Tensor& total) {
      const at::Tensor g = gradient.reshape({count * n_, width});
      add_weight_gradient(total, g, in.normed);
      add_input_gradient(dnormed, g, weight);
    };
    back(dq.narrow(3, 0, d), w_.q, totals_.q);
    back(dk.narrow(3, 0, d), w_.k, totals_.k);
    back(dv.narrow(3, 0, d), w_.v, totals_.v);
    back(dgate, w_.g, totals_.g);
    if (!through_norm_) return;
    const at::Tensor dx = norm_backward(dnormed, x, in.norm);
    if (wanted_[kX]) rows_of(dx_, b, begin, count).copy_(dx.view({count, n_, -1}));
  }

  /// The gradient of this rank's rows of T: to linear, and through the norm to what dx holds already.
  void bias(const at::Tensor& gradient) {
    for_attention_rows(call_.panels, x_, [&](std::int64_t b, std::int64_t begin, std::int64_t count) {
      const at::Tensor x = rows_of(x_, b, begin, count);
      const NormedRows in = normalise(x.reshape({count * n_, -1}).to(p_.norm), w_.norm, w_.norm_bias);
      const at::Tensor dbias = gradient.select(0, b).narrow(1, begin, count).reshape({call_.heads, -1}).t();
      add_weight_gradient(totals_.linear, dbias, in.value.to(p_.operand));
      if (!through_norm_) return;
      const at::Tensor dx = norm_backward(at::mm(dbias, w_.linear.to(dbias.scalar_type())), x, in);
      if (wanted_[kX]) rows_of(dx_, b, begin, count).add_(dx.view({count, n_, -1}));
    });
  }

  at::Tensor norm_backward(const at::Tensor& gradient, const at::Tensor& x, const NormedRows& in) const {
    return normalise_backward(gradient.to(p_.norm), x.reshape({gradient.size(0), -1}).to(p_.norm), in, w_.norm,
                              w_.norm_bias, totals_.norm, totals_.norm_bias, wanted_[kX]);
  }

  const AttentionCall& call_;
  const Precision& p_;
  const AttentionPanels panels_;
  const at::Tensor &x_, &dy_;
  const AttentionWeights w_;
  const at::Tensor keys_;
  const std::int64_t n_;
  const WantedAttention wanted_;
  const bool through_norm_, through_bias_;
  AttentionWeights totals_;
  at::Tensor dx_;
};

}  // namespace

bool takes_efficient_attention(const AttentionCall& call, const at::Tensor& z) {
  const auto dtype = call.precision.operand;
  return z.is_cuda() && (dtype == at::kBFloat16 || dtype == at::kHalf) && call.head_width <= 120;
}

void efficient_attention_forward(const AttentionCall& call, const at::Tensor& x, const at::Tensor& mask,
                                 const AttentionWeights& weights, const at::Tensor& y) {
  const AttentionWeights w = weights.cast(call.precision);
  const at::Tensor whole = bias_in_eights(call, x, w), keys = key_bias(mask, call.precision.wide);
  for_attention_rows({forward_rows(x), x.size(2)}, x, [&](std::int64_t b, std::int64_t begin, std::int64_t count) {
    const Attended in(call, w, rows_of(x, b, begin, count), rows_of(keys, b, begin, count), whole[b], false);
    const at::Tensor gated = in.heads_of(call).mul_(in.gate).flatten(0, 1);
    rows_of(y, b, begin, count).copy_(at::mm(gated, w.o.t()).view({count, x.size(2), -1}));
  });
}

AttentionGradients efficient_attention_backward(const AttentionCall& call, const at::Tensor& x, const at::Tensor& mask,
                                                const AttentionWeights& weights, const at::Tensor& gradient,
                                                const WantedAttention& wanted) {
  return Backward(call, x, mask, weights, gradient, wanted).run(weights);
}

}  // namespace cpize::trunk
