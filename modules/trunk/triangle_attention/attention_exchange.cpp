// What triangle attention moves between ranks: rows of pairs there and back, the bias to all, its gradient home.
#include <ATen/ATen.h>

#include "trunk/triangle_attention/attention_function.hpp"

namespace cpize::trunk {
namespace {

Spec heads_first(const Spec& spec, TriangleNode node) {
  return node == TriangleNode::starting ? stored(spec, {0, 3, 1, 2, 4, 5}) : stored(spec, {0, 3, 2, 1, 4, 5});
}

}  // namespace

Spec AttentionCall::rows_spec() const {
  return node == TriangleNode::starting ? PairByRow::spec : stored(PairByCol::spec, {0, 2, 1, 3, 4, 5});
}

at::Tensor AttentionCall::turned(const at::Tensor& x) const {
  return node == TriangleNode::starting ? x : x.transpose(1, 2);
}

Shape AttentionCall::with_channels(const at::Tensor& local) const {
  Shape shape(global.begin(), global.begin() + 3);
  shape.insert(shape.end(), local.sizes().begin() + 3, local.sizes().end());
  return shape;
}

Shape AttentionCall::rows_shape(std::int64_t channels) const {
  Shape size = box_of(rows_spec(), global, mesh->shape(), mesh->coordinates()).size;
  size[3] = channels;
  if (node == TriangleNode::ending) std::swap(size[1], size[2]);
  return size;
}

bool AttentionCall::exchanges_rows() const {
  return mesh->shape().extent(node == TriangleNode::starting ? Axis::cp1 : Axis::cp0) > 1;
}

at::Tensor AttentionCall::to_rows(at::Tensor local) const {
  if (!exchanges_rows()) return turned(local);
  const Shape shape = with_channels(local);
  return turned(ExchangeInFlight(std::move(local), Pair::spec, rows_spec(), shape, mesh).finish());
}

at::Tensor AttentionCall::to_pairs(at::Tensor rows) const {
  at::Tensor local = turned(rows);
  rows.reset();
  if (!exchanges_rows()) return local;
  const Shape shape = with_channels(local);
  return ExchangeInFlight(std::move(local), rows_spec(), Pair::spec, shape, mesh).finish();
}

at::Tensor AttentionCall::empty_rows(std::int64_t channels, at::ScalarType dtype, at::Device device) const {
  const auto options = at::TensorOptions(device).dtype(dtype);
  Shape size = rows_shape(channels);
  if (exchanges_rows() || node == TriangleNode::starting) return at::empty(size, options);
  std::swap(size[1], size[2]);
  return turned(at::empty(size, options));
}

// A bias lies heads first: [B,h,rows,N] in core form, [B,N,N,h] in the layout's order.
at::Tensor AttentionCall::whole_bias(const at::Tensor& bias, const Spec& of) const {
  const at::Tensor local = turned(bias.movedim(1, 3));
  return turned(exchange(local, of, heads_first(PairWhole::spec, node), with_channels(local), mesh)).movedim(3, 1);
}

at::Tensor AttentionCall::bias_gradient(const at::Tensor& gradient, const Spec& of) const {
  const at::Tensor local = turned(gradient.movedim(1, 3));
  const Spec home = heads_first(dual(of), node);
  return turned(exchange(local, dual(PairWhole::spec), home, with_channels(local), mesh)).movedim(3, 1);
}

}  // namespace cpize::trunk
