// Triangle multiplication: each pair (i, j) is updated from the two other edges of all triangles (i, j, k).
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "serial/initialisers.hpp"

namespace cpize::serial {

/// Which edges of the triangle are multiplied: outgoing sums a[i,k] b[j,k], incoming a[k,i] b[k,j].
enum class TriangleDirection { outgoing, incoming };

/// With n = norm_in(x): [a, b] = p_in(n) * sigmoid(g_in(n)) * mask, o[i,j] = sum over k (per channel),
/// result p_out(norm_out(o)) * sigmoid(g_out(n)). Parameters, in order: norm_in.{weight,bias}, p_in.weight, g_in.weight
/// [2 dim, dim] (a is the first half), norm_out.{weight,bias}, p_out.weight, g_out.weight [dim, dim].
class TriangleMultiplicationImpl : public torch::nn::Module {
 public:
  TriangleMultiplicationImpl(int64_t dim, TriangleDirection direction);

  /// x [B,N,N,dim], mask [B,N,N] (1 valid, 0 padding; any dtype) -> [B,N,N,dim] in the dtype of x. The sum over k runs
  /// in promote_types(dtype, fp32), outside autocast. Masked pairs enter
  /// no valid value, whatever number they hold whose square is finite in the dtype.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& mask);

  const TriangleDirection direction;
  torch::nn::LayerNorm norm_in;
  torch::nn::Linear p_in;
  torch::nn::Linear g_in;
  torch::nn::LayerNorm norm_out;
  torch::nn::Linear p_out;
  torch::nn::Linear g_out;
};
TORCH_MODULE(TriangleMultiplication);

}  // namespace cpize::serial
