// The tiles of the outer product mean: a tile is a few row tokens with all column tokens of this rank. Its h h channels
// per pair are one product over the rows of the MSA, which the projection takes at once.
//
// With a as [S, rows h] and b as [S, h columns] the product is [rows, h h, columns]: for each row token a matrix that
// the projection multiplies as it lies, so that nothing is transposed between the two products.
#include <ATen/ATen.h>

#include "trunk/msa/outer_product_function.hpp"
#include "trunk/msa/wide_products.hpp"
#include "trunk/row_panels.hpp"

namespace cpize::trunk {
namespace {

/// f(sample, begin, count) for each tile; not at all where this rank has no pairs.
template <class F>
void for_tiles(const OuterProductCall& call, F f) {
  const auto& count = call.count;
  if (count.numel() == 0) return;
  for (std::int64_t sample = 0; sample < count.size(0); ++sample)
    for_row_panels(count.size(1), call.tile_rows,
                   [&](std::int64_t begin, std::int64_t rows) { f(sample, begin, rows); });
}

/// a of a tile, [S, rows h]; a view.
at::Tensor rows_of(const OuterProductCall& call, std::int64_t sample, std::int64_t begin, std::int64_t rows) {
  return call.a[sample].narrow(1, begin, rows).flatten(1, 2);
}

/// The h h channels of a tile, [rows, h h, columns], rounded to the operand's dtype.
at::Tensor channels_of(const OuterProductCall& call, const at::Tensor& a, const at::Tensor& b, std::int64_t rows) {
  return narrow_product(a.t(), b, call.precision.wide).view({rows, call.hidden * call.hidden, -1});
}

}  // namespace

at::Tensor product_tiles(const OuterProductCall& call, const OuterProductWeights& weights) {
  const Precision& p = call.precision;
  const at::Tensor proj_o = weights.proj_o.to(p.operand).t(), bias = weights.proj_o_bias.to(p.operand).to(p.wide);
  Shape shape = call.count.sizes().vec();
  shape.push_back(proj_o.size(1));
  at::Tensor z = at::empty(shape, call.a.options());
  for_tiles(call, [&](std::int64_t sample, std::int64_t begin, std::int64_t rows) {
    const at::Tensor channels = channels_of(call, rows_of(call, sample, begin, rows), call.b[sample].flatten(1), rows);
    at::Tensor out = wide_stack_product(channels.mT(), proj_o, p.wide);
    out.div_(call.count[sample].narrow(0, begin, rows).unsqueeze(-1)).add_(bias);
    z[sample].narrow(0, begin, rows).copy_(out);
  });
  return z;
}

TileGradients tile_gradients(const OuterProductCall& call, const OuterProductWeights& weights,
                             const at::Tensor& gradient, bool wants_operands, bool wants_proj_o,
                             bool wants_proj_o_bias) {
  const Precision& p = call.precision;
  const at::Tensor proj_o = weights.proj_o.to(p.operand);
  TileGradients total{
      {}, {}, gradient_total(weights.proj_o, wants_proj_o), gradient_total(weights.proj_o_bias, wants_proj_o_bias)};
  const at::Tensor proj_o_total = wants_proj_o ? total.proj_o.t() : at::Tensor();  // [h h, token_z]
  if (wants_operands) {
    total.a = at::empty_like(call.a);
    total.b = at::zeros(call.b.sizes(), call.b.options().dtype(p.wide));
    if (call.count.numel() == 0) total.a.zero_();
  }
  for_tiles(call, [&](std::int64_t sample, std::int64_t begin, std::int64_t rows) {
    const at::Tensor g = gradient[sample].narrow(0, begin, rows);  // [rows, columns, token_z]
    if (wants_proj_o_bias)
      total.proj_o_bias.add_(g.sum(at::IntArrayRef({0, 1}), /*keepdim=*/false, total.proj_o_bias.scalar_type()));
    const at::Tensor scaled = g.to(p.wide).div(call.count[sample].narrow(0, begin, rows).unsqueeze(-1)).to(p.operand);
    const at::Tensor a = rows_of(call, sample, begin, rows), b = call.b[sample].flatten(1);
    if (wants_proj_o) {  // sum over pairs of channels (x) scaled
      const at::Tensor channels = channels_of(call, a, b, rows);
      add_stack_product(proj_o_total, channels.mT(), scaled);
    }
    if (!wants_operands) return;
    // The gradient of the channels, [rows, h h, columns], read as [rows h, h columns].
    const at::Tensor dchannels =
        narrow_stack_product(proj_o.t(), scaled.mT(), p.wide).view({rows * call.hidden, call.hidden * call.b.size(3)});
    total.a[sample]
        .narrow(1, begin, rows)
        .copy_(narrow_product(b, dchannels.t(), p.wide).view({call.a.size(1), rows, call.hidden}));
    total.b[sample].flatten(1).add_(wide_product(a, dchannels, p.wide));
  });
  if (wants_operands) total.b = total.b.to(p.operand);
  return total;
}

}  // namespace cpize::trunk
