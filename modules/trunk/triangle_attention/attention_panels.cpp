#include "trunk/triangle_attention/attention_panels.hpp"

#include <ATen/ATen.h>

#include <cmath>

namespace cpize::trunk {
namespace {

/// The dtype in which operands enter product().
at::ScalarType factor_dtype(const Precision& p, const at::Tensor& like) { return like.is_cuda() ? p.operand : p.wide; }

}  // namespace

AttentionPanels attention_panels(std::int64_t shard_elements, std::int64_t tokens, std::int64_t score_elements,
                                 bool on_gpu) {
  // On a CPU three panels stay in a core's cache; on a GPU a panel fills the device.
  const std::int64_t fewest = on_gpu ? std::int64_t{1} << 20 : std::int64_t{1} << 15;
  const std::int64_t most = on_gpu ? std::int64_t{1} << 26 : std::int64_t{1} << 17;
  const std::int64_t elements = score_elements > 0 ? score_elements : std::clamp(shard_elements / 32, fewest, most);
  const std::int64_t row = std::max<std::int64_t>(1, tokens * tokens);
  if (row <= elements) return {elements / row, tokens};
  return {1, std::max<std::int64_t>(1, elements / tokens)};
}

at::Tensor bias_rows(const AttentionCall& call, const at::Tensor& x, const AttentionWeights& w) {
  const auto& p = call.precision;
  const std::int64_t tokens = x.size(2);
  const at::Tensor bias = at::empty({x.size(0), call.heads, x.size(1), tokens}, x.options().dtype(p.operand));
  for_attention_rows(call.panels, x, [&](std::int64_t b, std::int64_t begin, std::int64_t count) {
    const at::Tensor rows = rows_of(x, b, begin, count).reshape({count * tokens, -1}).to(p.norm);
    const at::Tensor normed = normalise(rows, w.norm, w.norm_bias).value.to(p.operand);
    bias.select(0, b).narrow(1, begin, count).copy_(at::mm(w.linear, normed.t()).view({call.heads, count, tokens}));
  });
  return bias;
}

at::Tensor key_bias(const at::Tensor& mask, at::ScalarType wide) {
  at::Tensor bias = (mask.to(wide) - 1).mul_(kMaskedKey);
  return wide == at::kDouble || bias.numel() == 0 ? bias : bias.sub_(bias.amax(-1, /*keepdim=*/true));
}

AttentionWeights gradient_totals(const AttentionWeights& weights, const WantedAttention& wanted) {
  const auto total = [&](const at::Tensor& weight, AttentionGradient which) {
    return gradient_total(weight, wanted[which]);
  };
  return {total(weights.norm, kNorm),     total(weights.norm_bias, kNormBias),
          total(weights.linear, kLinear), total(weights.q, kQ),
          total(weights.k, kK),           total(weights.v, kV),
          total(weights.o, kO),           total(weights.g, kG)};
}

AttentionWeights as_gradients(const AttentionWeights& totals, const AttentionWeights& weights) {
  return {as_gradient(totals.norm, weights.norm),     as_gradient(totals.norm_bias, weights.norm_bias),
          as_gradient(totals.linear, weights.linear), as_gradient(totals.q, weights.q),
          as_gradient(totals.k, weights.k),           as_gradient(totals.v, weights.v),
          as_gradient(totals.o, weights.o),           as_gradient(totals.g, weights.g)};
}

at::Tensor head_weights(const AttentionWeights& w, std::int64_t head, std::int64_t width) {
  const auto rows = [&](const at::Tensor& weight) { return weight.narrow(0, head * width, width); };
  return at::cat({rows(w.q), rows(w.k), rows(w.v), rows(w.g)});
}

HeadPanel head_panel(const AttentionCall& call, const at::Tensor& x, const AttentionWeights& w,
                     const at::Tensor& weights) {
  const auto& p = call.precision;
  const std::int64_t count = x.size(0), tokens = x.size(1), d = call.head_width;
  HeadPanel panel;
  panel.norm = normalise(x.reshape({count * tokens, -1}).to(p.norm), w.norm, w.norm_bias);
  panel.normed = panel.norm.value.to(p.operand);
  const at::Tensor all = at::mm(panel.normed, weights.t()).view({count, tokens, 4 * d}).to(factor_dtype(p, x));
  panel.q = all.narrow(2, 0, d);
  panel.k = all.narrow(2, d, d);
  panel.v = all.narrow(2, 2 * d, d);
  panel.gate = all.narrow(2, 3 * d, d);
  return panel;
}

at::Tensor attention_weights(const AttentionCall& call, const HeadPanel& panel, std::int64_t first,
                             std::int64_t queries, const at::Tensor& bias, const at::Tensor& keys) {
  const double scale = 1 / std::sqrt(static_cast<double>(call.head_width));
  const at::Tensor q = panel.q.narrow(1, first, queries);
  // The published order, on which the rounding of a row without a valid key depends: product, mask, bias. (A fused
  // product with the mask as its addend starts from the mask where the product is large.)
  const at::Tensor scores = product(call.precision, q, panel.k.mT()).mul_(scale).add_(keys.unsqueeze(1));
  return at::softmax(scores.add_(bias.narrow(0, first, queries)), -1);
}

at::Tensor product(const Precision& precision, const at::Tensor& a, const at::Tensor& b) {
  const auto dtype = factor_dtype(precision, a);
  if (dtype == precision.wide) return at::bmm(a.to(dtype), b.to(dtype));
  return at::bmm(a.to(dtype), b.to(dtype), precision.wide);
}

at::Tensor matrix_product(const Precision& precision, const at::Tensor& a, const at::Tensor& b) {
  const auto dtype = factor_dtype(precision, a);
  if (dtype == precision.wide) return at::mm(a.to(dtype), b.to(dtype));
  return at::mm(a.to(dtype), b.to(dtype), precision.wide);
}

}  // namespace cpize::trunk
