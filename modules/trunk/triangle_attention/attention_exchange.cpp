// What triangle attention moves between ranks: rows of pairs there and back, the bias to all, its gradient home.
#include <ATen/ATen.h>

#include "trunk/triangle_attention/attention_function.hpp"

namespace cpize::trunk {
namespace {

/// The layout of a node's rows, stored in core form.
Spec rows_spec(TriangleNode node) {
  return node == TriangleNode::starting ? PairByRow::spec : stored(PairByCol::spec, {0, 2, 1, 3, 4, 5});
}

/// Core form to the order of the layout's dimensions and back: exchanges the two token dimensions, or nothing.
at::Tensor turned(const at::Tensor& x, TriangleNode node) {
  return node == TriangleNode::starting ? x : x.transpose(1, 2);
}

// A bias lies heads first: [B,h,rows,N] in core form, [B,N,N,h] in the layout's order.
at::Tensor heads_last(const at::Tensor& bias, TriangleNode node) { return turned(bias.movedim(1, 3), node); }
at::Tensor heads_first(const at::Tensor& bias, TriangleNode node) { return turned(bias, node).movedim(3, 1); }
Spec heads_first(const Spec& spec, TriangleNode node) {
  return node == TriangleNode::starting ? stored(spec, {0, 3, 1, 2, 4, 5}) : stored(spec, {0, 3, 2, 1, 4, 5});
}

Shape with_channels(const Shape& global, at::IntArrayRef sizes) {
  Shape shape(global.begin(), global.begin() + 3);
  shape.insert(shape.end(), sizes.begin() + 3, sizes.end());
  return shape;
}

}  // namespace

bool AttentionCall::exchanges_rows() const {
  return mesh->shape().extent(node == TriangleNode::starting ? Axis::cp1 : Axis::cp0) > 1;
}

at::Tensor AttentionCall::to_rows(at::Tensor local) const {
  if (!exchanges_rows()) return turned(local, node);
  const Shape shape = with_channels(global, local.sizes());
  return turned(ExchangeInFlight(std::move(local), Pair::spec, rows_spec(node), shape, mesh).finish(), node);
}

at::Tensor AttentionCall::to_pairs(at::Tensor rows) const {
  at::Tensor local = turned(rows, node);
  rows.reset();
  if (!exchanges_rows()) return local;
  const Shape shape = with_channels(global, local.sizes());
  return ExchangeInFlight(std::move(local), rows_spec(node), Pair::spec, shape, mesh).finish();
}

at::Tensor AttentionCall::empty_rows(std::int64_t channels, at::ScalarType dtype, at::Device device) const {
  Shape size = box_of(rows_spec(node), global, mesh->shape(), mesh->coordinates()).size;
  size[3] = channels;
  const auto options = at::TensorOptions(device).dtype(dtype);
  if (!exchanges_rows()) return turned(at::empty(size, options), node);
  if (node == TriangleNode::ending) std::swap(size[1], size[2]);
  return at::empty(size, options);
}

at::Tensor AttentionCall::whole_bias(const at::Tensor& bias) const {
  if (mesh->shape().cp_size() == 1) return bias;
  at::Tensor local = heads_last(bias, node);
  const Shape shape = with_channels(global, local.sizes());
  return heads_first(
      ExchangeInFlight(std::move(local), rows_spec(node), heads_first(PairWhole::spec, node), shape, mesh).finish(),
      node);
}

at::Tensor AttentionCall::bias_gradient_rows(const at::Tensor& gradient) const {
  if (mesh->shape().cp_size() == 1) return gradient;
  at::Tensor local = heads_last(gradient, node);
  const Shape shape = with_channels(global, local.sizes());
  return heads_first(
      ExchangeInFlight(std::move(local), dual(PairWhole::spec), heads_first(dual(rows_spec(node)), node), shape, mesh)
          .finish(),
      node);
}

}  // namespace cpize::trunk
