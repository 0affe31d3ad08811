// Backward of the triangle multiplication in three passes: the output projection (panels), the products (channel
// chunks), the input projections (panels). Only the inputs, a, b and o were saved; the rest is computed again.
#include <ATen/ATen.h>

#include "trunk/row_panels.hpp"
#include "trunk/triangle_function.hpp"
#include "trunk/triangle_fused.hpp"

namespace cpize::trunk {
namespace {

enum Wanted { kZ, kNormIn, kNormInBias, kPIn, kGIn, kNormOut, kNormOutBias, kPOut, kGOut };

class Backward {
 public:
  Backward(TriangleCall& call, const at::Tensor& rows, const at::Tensor& mask, const TriangleWeights& weights,
           const std::array<bool, 9>& wanted, bool consume)
      : call_(call),
        p_(call.precision),
        rows_(rows),
        mask_(mask),
        w_(weights.cast(call.precision)),
        consume_(consume),
        through_norm_(wanted[kZ] || wanted[kNormIn] || wanted[kNormInBias]),
        through_edges_(through_norm_ || wanted[kPIn] || wanted[kGIn]),
        wants_z_(wanted[kZ]) {
    const auto total = [&](const at::Tensor& weight, Wanted which) { return gradient_total(weight, wanted[which]); };
    totals_ = {total(weights.norm_in, kNormIn),
               total(weights.norm_in_bias, kNormInBias),
               {},
               {},  // of p_in and g_in: made when their pass begins
               total(weights.norm_out, kNormOut),
               total(weights.norm_out_bias, kNormOutBias),
               total(weights.p_out, kPOut),
               total(weights.g_out, kGOut)};
    if (through_norm_) dz_ = at::empty(rows.sizes(), rows.options());
  }

  bool through_edges() const { return through_edges_; }

  /// dy -> gradients of o, norm_out, p_out, g_out; dz receives the gate's share of the gradient of the normalised
  /// input.
  void output_projection(const at::Tensor& dy) {
    if (through_edges_) dsums_ = consume_ ? call_.sums : at::empty_like(call_.sums);
    for_row_panels(rows_.size(0), call_.panel, [&](std::int64_t begin, std::int64_t count) {
      const at::Tensor g = dy.narrow(0, begin, count);
      const at::Tensor sums = call_.sums.narrow(0, begin, count).to(p_.norm);
      const at::Tensor normed =
          normalise(rows_.narrow(0, begin, count).to(p_.norm), w_.norm_in, w_.norm_in_bias).value.to(p_.operand);
      const at::Tensor gate = at::mm(normed, w_.g_out.t()).sigmoid_();
      const NormedRows out = normalise(sums, w_.norm_out, w_.norm_out_bias);
      const at::Tensor operand = out.value.to(p_.operand);
      // y = t s with s = sigmoid(v):  dt = g s,  dv = g t s (1 - s)
      const at::Tensor dt = g * gate;
      const at::Tensor dv = at::mm(operand, w_.p_out.t()).mul_(dt).mul_(1 - gate);
      add_weight_gradient(totals_.p_out, dt, operand);
      add_weight_gradient(totals_.g_out, dv, normed);
      if (through_norm_) dz_.narrow(0, begin, count).copy_(at::mm(dv, w_.g_out));
      const at::Tensor dsums =
          normalise_backward(at::mm(dt, w_.p_out).to(p_.norm), sums, out, w_.norm_out, w_.norm_out_bias,
                             totals_.norm_out, totals_.norm_out_bias, through_edges_);
      if (through_edges_) dsums_.narrow(0, begin, count).copy_(dsums);
    });
    if (consume_) call_.sums.reset();
  }

  /// Gradient of o -> gradients of the gated edges in layout Pair, one tensor a chunk.
  void products() {
    const auto& mesh = *call_.mesh;
    Shape pairs = box_of(Pair::spec, call_.global, mesh.shape(), mesh.coordinates()).size;
    for (std::size_t i = 0; i < call_.chunks.size(); ++i) {
      const auto& chunk = call_.chunks[i];
      at::Tensor g = call_.to_channels(dsums_.view(pairs).narrow(3, chunk.begin, chunk.size), {chunk.size});
      at::Tensor de = edge_gradients(g, call_.edges[i], call_.direction, p_.wide);
      g.reset();
      if (consume_) call_.edges[i].reset();
      dedges_.push_back(call_.to_pairs(std::move(de), {chunk.size, 2}).view({-1, chunk.size, 2}));
    }
    dsums_.reset();
  }

  /// Gradients of the gated edges -> those of p_in, g_in, norm_in and z.
  void input_projections(const TriangleWeights& weights, const std::array<bool, 9>& wanted) {
    totals_.p_in = gradient_total(weights.p_in, wanted[kPIn]);
    totals_.g_in = gradient_total(weights.g_in, wanted[kGIn]);
    const std::int64_t channels = rows_.size(1);
    for_row_panels(rows_.size(0), call_.panel, [&](std::int64_t begin, std::int64_t count) {
      at::Tensor dedge = at::empty({count, 2, channels}, mask_.options());
      for (std::size_t i = 0; i < call_.chunks.size(); ++i)
        dedge.narrow(2, call_.chunks[i].begin, call_.chunks[i].size)
            .copy_(dedges_[i].narrow(0, begin, count).transpose(1, 2));
      dedge = dedge.view({count, 2 * channels}).mul_(mask_.narrow(0, begin, count));

      const at::Tensor rows = rows_.narrow(0, begin, count).to(p_.norm);
      const NormedRows in = normalise(rows, w_.norm_in, w_.norm_in_bias);
      const at::Tensor normed = in.value.to(p_.operand);
      // edge = u s m with s = sigmoid(v):  du = g m s,  dv = g m u s (1 - s)
      const at::Tensor gate = at::mm(normed, w_.g_in.t()).sigmoid_();
      const at::Tensor du = dedge.mul_(gate);
      const at::Tensor dv = at::mm(normed, w_.p_in.t()).mul_(du).mul_(1 - gate);
      add_weight_gradient(totals_.p_in, du, normed);
      add_weight_gradient(totals_.g_in, dv, normed);
      if (!through_norm_) return;
      at::Tensor panel = dz_.narrow(0, begin, count);
      const auto wide = at::promote_types(p_.norm, at::kFloat);
      const at::Tensor dnormed = panel.to(wide, /*non_blocking=*/false, /*copy=*/true);
      add_input_gradient(dnormed, du, w_.p_in);
      add_input_gradient(dnormed, dv, w_.g_in);
      const at::Tensor dz = normalise_backward(dnormed.to(p_.norm), rows, in, w_.norm_in, w_.norm_in_bias,
                                               totals_.norm_in, totals_.norm_in_bias, wants_z_);
      if (wants_z_) panel.copy_(dz);
    });
  }

  TriangleGradients result(const TriangleWeights& weights) const {
    return {wants_z_ ? dz_ : at::Tensor(),
            {as_gradient(totals_.norm_in, weights.norm_in), as_gradient(totals_.norm_in_bias, weights.norm_in_bias),
             as_gradient(totals_.p_in, weights.p_in), as_gradient(totals_.g_in, weights.g_in),
             as_gradient(totals_.norm_out, weights.norm_out), as_gradient(totals_.norm_out_bias, weights.norm_out_bias),
             as_gradient(totals_.p_out, weights.p_out), as_gradient(totals_.g_out, weights.g_out)}};
  }

 private:
  TriangleCall& call_;
  const Precision& p_;
  const at::Tensor &rows_, &mask_;
  const TriangleWeights w_;
  const bool consume_, through_norm_, through_edges_, wants_z_;
  TriangleWeights totals_;
  at::Tensor dz_;     // [pairs here, C]; until the last pass the gradient of the normalised input, as far as known
  at::Tensor dsums_;  // [pairs here, C]; takes the place of o where that is not needed again
  std::vector<at::Tensor> dedges_;  // per chunk [pairs here, channels, 2]
};

}  // namespace

TriangleGradients triangle_backward(TriangleCall& call, const at::Tensor& rows, const at::Tensor& mask,
                                    const TriangleWeights& weights, const at::Tensor& gradient,
                                    const std::array<bool, 9>& wanted, bool consume) {
  if (call.fused) return fused_triangle_backward(call, rows, mask, weights, gradient, wanted, consume);
  Backward backward(call, rows, mask, weights, wanted, consume);
  backward.output_projection(gradient);
  if (backward.through_edges()) {
    backward.products();
    backward.input_projections(weights, wanted);
  }
  return backward.result(weights);
}

}  // namespace cpize::trunk
