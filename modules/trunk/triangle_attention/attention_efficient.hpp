// The path of triangle attention for GPUs that have no kernels of ours: the library's memory-efficient attention, all
// heads of a panel of rows at a time. It stands for attention_forward and attention_backward of the plain path.
//
// That attention takes a bias per row and head. All rows share T, so it is given once with a step of 0 between rows;
// the mask, which differs by row, travels as one more channel of q and k:  [q, 1] . [k, m_j] = q . k + m_j.  Channels
// are filled up to eights, tokens of T as well (16 bytes). Its backward writes the gradient of the bias for every row,
// which panels bound.
#pragma once
#include "trunk/triangle_attention/attention_function.hpp"

namespace cpize::trunk {

/// Where it applies: operands of two bytes on a GPU, heads up to 120 wide. The same on every rank.
bool takes_efficient_attention(const AttentionCall& call, const at::Tensor& z);

/// As attention_forward and attention_backward, with the same exchanges but for all heads at once. The gradient of x
/// never takes the place of `gradient`.
void efficient_attention_forward(const AttentionCall& call, const at::Tensor& x, const at::Tensor& mask,
                                 const AttentionWeights& weights, const at::Tensor& y);
AttentionGradients efficient_attention_backward(const AttentionCall& call, const at::Tensor& x, const at::Tensor& mask,
                                                const AttentionWeights& weights, const at::Tensor& gradient,
                                                const WantedAttention& wanted);

}  // namespace cpize::trunk
