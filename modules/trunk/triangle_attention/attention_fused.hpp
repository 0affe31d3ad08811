// The fused path of triangle attention: kernels of our own for the scores, the softmax and their products. It stands
// for attention_forward and attention_backward; everything that it does not take goes the plain path, which stays the
// reference that the fused one is proved against.
//
// It exchanges by itself, rows in panels (attention_rows.hpp). Which exchanges, and in which order, depends only on
// what all ranks share: never on the rows that this rank happens to hold.
#pragma once
#include <memory>

#include "trunk/triangle_attention/attention_function.hpp"

namespace cpize::trunk {

/// Null where the fused path does not take this call: the same on every rank. `x` has C channels last, in any layout.
std::shared_ptr<FusedAttention> make_fused_attention(const AttentionCall& call, const at::Tensor& x);

/// As attention_forward and attention_backward, from a shard of pairs to a shard of pairs, [B,n0,n1,C]; call.fused is
/// set and keeps what forward leaves for backward (where call.save). Any strides, channels next to each other. With
/// call.residual, the result is z + y and the gradient that of both; with call.overwrite it lies in z's place.
/// `consume`: what was saved may be released on the way.
at::Tensor fused_attention_forward(AttentionCall& call, const at::Tensor& z, const at::Tensor& mask,
                                   const AttentionWeights& weights);
AttentionGradients fused_attention_backward(AttentionCall& call, const at::Tensor& z, const AttentionWeights& weights,
                                            const at::Tensor& gradient, const WantedAttention& wanted, bool consume);

}  // namespace cpize::trunk
