// The matrix products of the triangle multiplication, one batch entry a channel.
#include <ATen/ATen.h>

#include "trunk/triangle_function.hpp"

namespace cpize::trunk {
namespace {

/// Products on a GPU sum narrow operands in fp32 anyway; the CPU's would not, so there the operands are widened first.
at::Tensor widened(const at::Tensor& x, at::ScalarType wide) { return x.is_cuda() ? x : x.to(wide); }

/// [B,d,N,N] -> [B d,N,N]; a view for the halves of the edges as well.
at::Tensor batch_of(const at::Tensor& x) { return x.flatten(0, 1); }

}  // namespace

at::Tensor multiply_edges(const at::Tensor& edges, TriangleDirection direction, at::ScalarType wide,
                          const at::Tensor& place) {
  const at::Tensor e = widened(edges, wide);
  const at::Tensor a = batch_of(e.select(2, 0)), b = batch_of(e.select(2, 1));
  at::Tensor sum = place.defined() ? batch_of(place) : at::empty_like(a, at::MemoryFormat::Contiguous);
  if (direction == TriangleDirection::outgoing)
    at::bmm_out(sum, a, b.mT());
  else
    at::bmm_out(sum, a.mT(), b);
  return sum.view({edges.size(0), edges.size(1), edges.size(3), edges.size(4)}).to(edges.scalar_type());
}

at::Tensor edge_gradients(const at::Tensor& sum_gradient, const at::Tensor& edges, TriangleDirection direction,
                          at::ScalarType wide, const at::Tensor& place) {
  const at::Tensor e = widened(edges, wide), g = batch_of(widened(sum_gradient, wide));
  const at::Tensor a = batch_of(e.select(2, 0)), b = batch_of(e.select(2, 1));
  at::Tensor gradients = place.defined() ? place : at::empty_like(e, at::MemoryFormat::Contiguous);
  at::Tensor da = gradients.select(2, 0).flatten(0, 1), db = gradients.select(2, 1).flatten(0, 1);
  if (direction == TriangleDirection::outgoing) {
    at::bmm_out(da, g, b);       // da[i,k] = sum_j g[i,j] b[j,k]
    at::bmm_out(db, g.mT(), a);  // db[j,k] = sum_i g[i,j] a[i,k]
  } else {
    at::bmm_out(da, b, g.mT());  // da[k,i] = sum_j b[k,j] g[i,j]
    at::bmm_out(db, a, g);       // db[k,j] = sum_i a[k,i] g[i,j]
  }
  return gradients.to(edges.scalar_type());
}

}  // namespace cpize::trunk
