// Forward of triangle attention, plain path: head by head, panel by panel; then the output projection in place.
#include <ATen/ATen.h>

#include "trunk/triangle_attention/attention_panels.hpp"

namespace cpize::trunk {

void attention_forward(const AttentionCall& call, const at::Tensor& x, const at::Tensor& mask,
                       const AttentionWeights& weights, const at::Tensor& y) {
  const auto& p = call.precision;
  const AttentionWeights w = weights.cast(p);
  const std::int64_t tokens = x.size(2), d = call.head_width, width = call.heads * d;
  const at::Tensor bias = bias_rows(call, x, w), keys = key_bias(mask, p.wide);
  // Gated heads, side by side; y takes their place where they are as wide.
  const at::Tensor gated = width == y.size(3) ? y : call.empty_rows(width, p.operand, x.device());

  for (std::int64_t h = 0; h < call.heads; ++h) {
    const at::Tensor whole = call.whole_bias(bias.narrow(1, h, 1), call.rows_spec()).select(1, 0);
    const at::Tensor head = head_weights(w, h, d), out = gated.narrow(3, h * d, d);
    for (std::int64_t b = 0; b < x.size(0); ++b) {
      const at::Tensor t = whole.select(0, b).to(p.wide);
      for_row_panels(x.size(1), call.panels.rows, [&](std::int64_t begin, std::int64_t count) {
        const HeadPanel panel = head_panel(call, rows_of(x, b, begin, count), w, head);
        const at::Tensor panel_keys = rows_of(keys, b, begin, count), panel_out = rows_of(out, b, begin, count);
        const at::Tensor gate = panel.gate.sigmoid();
        for_row_panels(tokens, call.panels.queries, [&](std::int64_t first, std::int64_t queries) {
          const at::Tensor weights_of_keys = attention_weights(call, panel, first, queries, t, panel_keys);
          panel_out.narrow(1, first, queries)
              .copy_(product(p, weights_of_keys, panel.v).mul_(gate.narrow(1, first, queries)));
        });
      });
    }
  }

  for_attention_rows(call.panels, x, [&](std::int64_t b, std::int64_t begin, std::int64_t count) {
    const at::Tensor panel = rows_of(gated, b, begin, count).reshape({count * tokens, width});
    rows_of(y, b, begin, count).copy_(at::mm(panel, w.o.t()).view({count, tokens, -1}));
  });
}

}  // namespace cpize::trunk
