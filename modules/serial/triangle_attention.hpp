// Triangle attention: the pairs of each row (starting node) or column (ending node) attend to each other.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "serial/initialisers.hpp"

namespace cpize::serial {

/// Around which node: starting attends along rows, ending along columns.
enum class TriangleNode { starting, ending };

/// The projections of the attention, named mha.* in a checkpoint; without biases, head after head. linear_q, linear_k,
/// linear_v [heads head_width, dim] (Xavier uniform), linear_o [dim, heads head_width] and linear_g (zeros).
class TriangleAttentionHeadsImpl : public torch::nn::Module {
 public:
  TriangleAttentionHeadsImpl(int64_t dim, int64_t head_width, int64_t heads);

  /// Rows x [R,N,dim] (normed) that attend each to itself, mask_bias [R,1,1,N], pair_bias [R or 1,heads,N,N] ->
  /// [R,N,dim].
  at::Tensor forward(const at::Tensor& x, const at::Tensor& mask_bias, const at::Tensor& pair_bias);

  const int64_t heads;
  torch::nn::Linear linear_q;
  torch::nn::Linear linear_k;
  torch::nn::Linear linear_v;
  torch::nn::Linear linear_o;
  torch::nn::Linear linear_g;
};
TORCH_MODULE(TriangleAttentionHeads);

/// Starting node, with n = layer_norm(x): for every row r, head h, query i, key j
///   s = q[r,i] . k[r,j] / sqrt(head_width) + linear(n[i,j])[h] + inf (mask[r,j] - 1)
///   result[r,i] = linear_o(sigmoid(linear_g(n[r,i])) * softmax_j(s) v[r,j])
/// Ending node: the same on x and mask with their token dimensions exchanged, and the result exchanged back.
/// The softmax runs in promote_types(dtype, fp32). In a row whose keys are all masked inf cancels: softmax of the
/// scores. fp64 rounds these to multiples of 1.2e-7 next to 1e9, as the published model does; fp32 would round to 64
/// (the published model's weights there are nearly uniform), so in fp32 the largest of a row is taken off the mask's
/// share first, which changes nothing else. No valid value depends on such a row. Parameters, in order:
/// layer_norm.{weight,bias}, linear.weight [heads, dim], mha.*.
class TriangleAttentionImpl : public torch::nn::Module {
 public:
  TriangleAttentionImpl(int64_t dim, int64_t head_width, int64_t heads, TriangleNode node, double inf = 1e9);

  /// x [B,N,N,dim], mask [B,N,N] (1 valid, 0 padding; any dtype) -> [B,N,N,dim]. `chunk_size` > 0: that many rows at a
  /// time, the same numbers with less memory.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& mask, int64_t chunk_size = 0);

  const TriangleNode node;
  const double inf;
  torch::nn::LayerNorm layer_norm;
  torch::nn::Linear linear;
  TriangleAttentionHeads mha;
};
TORCH_MODULE(TriangleAttention);

}  // namespace cpize::serial
