// Forward of pair-weighted averaging: for each group of heads its whole weights, then panels of MSA rows.
#include <ATen/ATen.h>

#include "trunk/msa/averaging_panels.hpp"
#include "trunk/msa/wide_products.hpp"

namespace cpize::trunk {

at::Tensor averaging_forward(const AveragingCall& call, const at::Tensor& m, const AveragingWeights& weights) {
  const Precision& p = call.precision;
  const AveragingWeights w = weights.cast(p);
  const bool one_group = call.groups.size() == 1;
  // The groups' shares are added up in a wider dtype and rounded once.
  at::Tensor sum =
      one_group ? at::empty(m.sizes(), m.options().dtype(p.operand)) : at::zeros(m.sizes(), m.options().dtype(p.wide));
  for (const HeadGroup& group : call.groups) {
    const at::Tensor averages = whole_weights(call, group).to(p.operand);
    const at::Tensor gates = heads_of(w.proj_g, 0, call, group.begin, group.size);
    const at::Tensor out = heads_of(w.proj_o, 1, call, group.begin, group.size);
    for_msa_panels(m, call.depth, [&](std::int64_t sample, std::int64_t begin, std::int64_t count) {
      const at::Tensor normed =
          normalise(token_rows(m[sample], begin, count).to(p.norm), w.norm_m, w.norm_m_bias).value.to(p.operand);
      const at::Tensor gated = at::mm(normed, gates.t()).sigmoid_();
      for (std::int64_t h = 0; h < group.size; ++h) {
        const at::Tensor v = at::mm(normed, heads_of(w.proj_m, 0, call, group.begin + h).t());
        const at::Tensor o = narrow_product(averages[sample][h], by_token(v, count), p.wide);
        heads_of(gated, 1, call, h).mul_(o.view(v.sizes()));
      }
      at::Tensor panel = sum[sample].narrow(0, begin, count);
      if (one_group)
        panel.copy_(msa_rows(at::mm(gated, out.t()), count));
      else
        panel.add_(msa_rows(wide_product(gated, out.t(), p.wide), count));
    });
  }
  return sum.to(p.operand);
}

}  // namespace cpize::trunk
