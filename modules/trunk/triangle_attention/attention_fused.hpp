// The fused path of triangle attention: kernels of our own for the scores, the softmax and their products. It stands
// for attention_forward and attention_backward; everything that it does not take goes the plain path, which stays the
// reference that the fused one is proved against.
//
// Exchanges are the caller's, apart from the bias: forward must call call.whole_bias() once, with all heads, on every
// rank (an empty shard included), and backward must call it again if it needs the bias again, then
// call.bias_gradient_rows() once where wanted[kX], [kNorm], [kNormBias] or [kLinear] is set. What these calls are, and
// in which order, may depend only on what all ranks share: never on the rows that this rank happens to hold.
#pragma once
#include <memory>

#include "trunk/triangle_attention/attention_function.hpp"

namespace cpize::trunk {

/// Null where the fused path does not take this call: the same on every rank. `x` has C channels last, in any layout.
std::shared_ptr<FusedAttention> make_fused_attention(const AttentionCall& call, const at::Tensor& x);

/// As attention_forward and attention_backward; call.fused is set and keeps what forward leaves for backward (where
/// call.save). x and mask have any strides, channels next to each other: on one GPU the ending node gets z itself,
/// transposed, and writes y as such. With call.residual, y is x + y and the gradient that of both; with call.overwrite
/// y lies in x's place. `consume`: what was saved may be overwritten and released on the way.
void fused_attention_forward(AttentionCall& call, const at::Tensor& x, const at::Tensor& mask,
                             const AttentionWeights& weights, const at::Tensor& y);
AttentionGradients fused_attention_backward(AttentionCall& call, const at::Tensor& x, const at::Tensor& mask,
                                            const AttentionWeights& weights, const at::Tensor& gradient,
                                            const WantedAttention& wanted, bool consume_gradient, bool consume);

}  // namespace cpize::trunk
