// Panels of the plain path of triangle attention: how many rows or queries at a time, and what forward and backward
// compute alike for one head of one panel.
#pragma once
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

#include "trunk/row_panels.hpp"
#include "trunk/triangle_attention/attention_function.hpp"

namespace cpize::trunk {

/// At most max(`score_elements`, N) scores a panel; 0: a thirty-second of the elements of the shard, within limits.
AttentionPanels attention_panels(std::int64_t shard_elements, std::int64_t tokens, std::int64_t score_elements,
                                 bool on_gpu);

/// f(b, begin, count) for each panel of rows of each sample of `x` [B, rows here, N, ..].
template <class F>
void for_attention_rows(const AttentionPanels& panels, const at::Tensor& x, F f) {
  for (std::int64_t b = 0; b < x.size(0); ++b)
    for_row_panels(x.size(1), panels.rows, [&](std::int64_t begin, std::int64_t count) { f(b, begin, count); });
}

/// Rows [begin, begin + count) of sample b of a tensor in core form, a view.
inline at::Tensor rows_of(const at::Tensor& x, std::int64_t b, std::int64_t begin, std::int64_t count) {
  return x.select(0, b).narrow(0, begin, count);
}

/// This rank's rows of T, all heads: x in core form -> [B, H, rows here, N] in precision.operand. `w` is cast.
at::Tensor bias_rows(const AttentionCall& call, const at::Tensor& x, const AttentionWeights& w);

/// What is added to scores, [B, rows here, N] in `wide`: 1e9 (mask - 1). In fp32 less the largest of the row, which
/// changes nothing but that a row without a valid key keeps its scores, where fp32 would round them to multiples of 64;
/// fp64 rounds them to 1.2e-7, as the published model does.
at::Tensor key_bias(const at::Tensor& mask, at::ScalarType wide);

/// gradient_total() and as_gradient() of all weights.
AttentionWeights gradient_totals(const AttentionWeights& weights, const WantedAttention& wanted);
AttentionWeights as_gradients(const AttentionWeights& totals, const AttentionWeights& weights);

/// One head's weights of q, k, v and the gate, one after the other: [4 d, C].
at::Tensor head_weights(const AttentionWeights& w, std::int64_t head, std::int64_t width);

/// One head of a panel of `count` rows.
struct HeadPanel {
  NormedRows norm;           // of the panel's pairs as rows, precision.norm
  at::Tensor normed;         // the same in precision.operand, [count N, C]
  at::Tensor q, k, v, gate;  // [count, N, d], in the dtype of products(); gate before the sigmoid
};
/// `weights` [4 d, C] from head_weights(); `x`: the panel [count, N, C].
HeadPanel head_panel(const AttentionCall& call, const at::Tensor& x, const AttentionWeights& w,
                     const at::Tensor& weights);

/// softmax over keys, [count, queries, N] in precision.wide, of queries [first, first + queries). `bias`: this head's T
/// [N, N], `keys`: [count, N] of key_bias().
at::Tensor attention_weights(const AttentionCall& call, const HeadPanel& panel, std::int64_t first,
                             std::int64_t queries, const at::Tensor& bias, const at::Tensor& keys);

/// Batched product a b in precision.wide. A GPU's products sum narrow operands in fp32 and return it; the CPU's do not,
/// so there the operands are wide.
at::Tensor product(const Precision& precision, const at::Tensor& a, const at::Tensor& b);
/// The same of matrices: [n, m] [m, k].
at::Tensor matrix_product(const Precision& precision, const at::Tensor& a, const at::Tensor& b);

}  // namespace cpize::trunk
