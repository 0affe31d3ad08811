// Forward of the triangle multiplication: edges to channels, products, sums back to pairs, chunk by chunk; then the
// output projection, panel by panel.
#include <ATen/ATen.h>

#include "trunk/row_panels.hpp"
#include "trunk/triangle_function.hpp"
#include "trunk/triangle_fused.hpp"

namespace cpize::trunk {
namespace {

/// The rows of a [2 C, C] weight that make channels `chunk` of a and b, ordered (channel, a or b).
at::Tensor rows_of(const at::Tensor& weight, const ChannelChunk& chunk) {
  const std::int64_t channels = weight.size(0) / 2;
  return at::stack({weight.narrow(0, chunk.begin, chunk.size), weight.narrow(0, channels + chunk.begin, chunk.size)}, 1)
      .flatten(0, 1);
}

/// Gated and masked a and b of one chunk, [pairs here, 2 chunk.size], as (channel, a or b) so that one exchange carries
/// both. The input is normalised again for every chunk: a pass over it costs less than keeping it.
at::Tensor gated_edges(const TriangleCall& call, const at::Tensor& rows, const at::Tensor& mask,
                       const TriangleWeights& w, const ChannelChunk& chunk) {
  const at::Tensor value = rows_of(w.p_in, chunk), gate = rows_of(w.g_in, chunk);
  at::Tensor edges = at::empty({rows.size(0), 2 * chunk.size}, rows.options().dtype(call.precision.operand));
  for_row_panels(rows.size(0), call.panel, [&](std::int64_t begin, std::int64_t count) {
    const at::Tensor normed = normalise(rows.narrow(0, begin, count).to(call.precision.norm), w.norm_in, w.norm_in_bias)
                                  .value.to(call.precision.operand);
    at::Tensor panel = edges.narrow(0, begin, count);
    at::mm_out(panel, normed, value.t());
    panel.mul_(at::mm(normed, gate.t()).sigmoid_()).mul_(mask.narrow(0, begin, count));
  });
  return edges;
}

}  // namespace

at::Tensor triangle_forward(TriangleCall& call, const at::Tensor& rows, const at::Tensor& mask,
                            const TriangleWeights& weights) {
  if (call.fused) return fused_triangle_forward(call, rows, mask, weights);
  const auto& p = call.precision;
  const TriangleWeights w = weights.cast(p);
  const auto& mesh = *call.mesh;
  const Shape pairs = box_of(Pair::spec, call.global, mesh.shape(), mesh.coordinates()).size;
  at::Tensor sums = at::empty(rows.sizes(), rows.options().dtype(p.operand));
  for (const auto& chunk : call.chunks) {
    at::Tensor edges = call.to_channels(
        gated_edges(call, rows, mask, w, chunk).view({pairs[0], pairs[1], pairs[2], chunk.size, 2}), {chunk.size, 2});
    at::Tensor product = multiply_edges(edges, call.direction, p.wide);
    if (call.save) call.edges.push_back(std::move(edges));
    edges.reset();
    sums.narrow(1, chunk.begin, chunk.size)
        .copy_(call.to_pairs(std::move(product), {chunk.size}).view({-1, chunk.size}));
  }

  // Without backward nobody needs the sums again: y takes their place.
  at::Tensor y = call.save ? at::empty_like(sums) : sums;
  for_row_panels(rows.size(0), call.panel, [&](std::int64_t begin, std::int64_t count) {
    at::Tensor out =
        normalise(sums.narrow(0, begin, count).to(p.norm), w.norm_out, w.norm_out_bias).value.to(p.operand);
    out = at::mm(out, w.p_out.t());
    const at::Tensor normed =
        normalise(rows.narrow(0, begin, count).to(p.norm), w.norm_in, w.norm_in_bias).value.to(p.operand);
    y.narrow(0, begin, count).copy_(out.mul_(at::mm(normed, w.g_out.t()).sigmoid_()));
  });
  if (call.save) call.sums = std::move(sums);
  return y;
}

}  // namespace cpize::trunk
