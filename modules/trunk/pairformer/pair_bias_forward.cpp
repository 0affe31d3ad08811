// Forward of the attention with pair bias: queries to the rows, tokens to the columns, shares by panels of rows, one
// maximum and one sum.
#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "layout/max_over.hpp"
#include "trunk/pairformer/pair_bias_function.hpp"
#include "trunk/row_panels.hpp"

namespace cpize::trunk {
namespace {

/// This rank's shares: numerators and denominators [b,n,M,H,d+1] relative to `maxima` [b,n,M,H], which are over the
/// column tokens here.
at::Tensor shares(const PairBiasCall& call, const at::Tensor& z, const PairBiasWeights& w, const at::Tensor& maxima) {
  const std::int64_t samples = z.size(0), rows = z.size(1), columns = z.size(2), d = call.width;
  at::Tensor result = at::zeros({samples, rows, call.copies, call.heads, d + 1}, maxima.options());
  if (columns == 0) return result;
  const auto [keys, values] = keys_and_values(call, call.column_tokens, w);
  const at::Tensor queries = call.by_head(call.row_queries).mul_(1 / std::sqrt(static_cast<double>(d)));
  for (std::int64_t b = 0; b < samples; ++b)
    for_row_panels(rows, call.rows, [&](std::int64_t begin, std::int64_t count) {
      at::Tensor weights = panel_logits(call, queries[b].narrow(1, begin, count), keys[b], z[b].narrow(0, begin, count),
                                        w, call.excluded[b]);
      const at::Tensor most = weights.amax(-1, /*keepdim=*/true);
      weights.sub_(most).exp_();
      const auto by_token = [&](const at::Tensor& x) {  // [M*H, rows, c] -> [rows, M, H, c]
        return x.view({call.copies, call.heads, count, x.size(-1)}).permute({2, 0, 1, 3});
      };
      at::Tensor panel = result[b].narrow(0, begin, count);
      panel.narrow(-1, 0, d).copy_(by_token(at::bmm(weights, values[b])));
      panel.narrow(-1, d, 1).copy_(by_token(weights.sum(-1, /*keepdim=*/true)));
      maxima[b].narrow(0, begin, count).copy_(by_token(most).squeeze(-1));
    });
  return result;
}

}  // namespace

at::Tensor pair_bias_forward(PairBiasCall& call, const at::Tensor& q, const at::Tensor& k_in, const at::Tensor& z,
                             const PairBiasWeights& weights) {
  const auto with_copies = [&](const at::Tensor& x) { return x.dim() == 3 ? x.unsqueeze(2) : x; };
  ExchangeInFlight to_rows(with_copies(q), Single::spec, SingleRow::spec, call.queries, call.mesh);
  ExchangeInFlight to_columns(with_copies(k_in.to(call.precision.operand)), Single::spec, SingleCol::spec, call.keys,
                              call.mesh);
  call.row_queries = to_rows.finish().contiguous();
  call.column_tokens = to_columns.finish().contiguous();

  const auto options = q.options().dtype(call.precision.wide);
  const Shape by_head{call.queries[0], call.queries[1], call.copies, call.heads};
  // Of no keys at all (an empty shard) the maximum is below every score.
  const at::Tensor here =
      at::full({z.size(0), z.size(1), call.copies, call.heads}, -std::numeric_limits<double>::infinity(), options);
  at::Tensor share = shares(call, z, weights, here);
  call.maxima = max_over<cp1>(wrap<SingleRow>(here, by_head, call.mesh)).local();
  share.mul_((here - call.maxima).exp_().unsqueeze(-1));
  Shape with_sums = by_head;
  with_sums.push_back(call.width + 1);
  at::Tensor sums =
      ExchangeInFlight(std::move(share), Partial<SingleRow, cp1>::spec, Single::spec, with_sums, call.mesh).finish();
  at::Tensor o = sums.narrow(-1, 0, call.width).div(sums.narrow(-1, call.width, 1)).to(call.precision.operand);
  if (call.save)
    call.sums = std::move(sums);
  else
    call.row_queries = call.column_tokens = call.maxima = at::Tensor();
  return o;
}

}  // namespace cpize::trunk
