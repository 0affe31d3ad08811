// What an attention with pair bias sends, for the bounds of the cases that contain one.
#pragma once
#include <algorithm>
#include <cmath>

#include "parity/harness/cost.hpp"

namespace cpize::parity {

/// Tokens of the rank that owns most, times samples.
inline double tokens_here(const CostPoint& p) {
  const double samples = static_cast<double>(p.sizes["B"]) / p.mesh.extent(Axis::dp);
  return samples * std::ceil(static_cast<double>(p.sizes["N"]) / p.q());
}

/// The letters of attention_pair_bias.hpp, for the bounds below.
struct AttentionCost {
  explicit AttentionCost(const CostPoint& p, double copies)
      : n(tokens_here(p) * copies),
        width(p.element_bytes),
        sum_width(std::max(4., p.element_bytes)),
        cp0(p.mesh.extent(Axis::cp0)),
        cp1(p.mesh.extent(Axis::cp1)),
        channels(static_cast<double>(p.sizes["token_s"])),
        heads(static_cast<double>(p.sizes["heads"])) {}
  double n, width, sum_width, cp0, cp1, channels, heads;
};

/// q to the rows, k_in to the columns, sums, maxima, and the mask to all ranks of the sample (an fp32 or wider number).
inline double attention_forward_bytes(const CostPoint& p, double copies = 1) {
  const AttentionCost a(p, copies);
  if (p.q() == 1) return 0;
  return a.n * a.width * a.channels * (a.cp1 - 1 + a.cp0) +
         a.n * a.sum_width * (a.channels + a.heads + a.heads * a.cp1) * (a.cp1 - 1) +
         tokens_here(p) * a.sum_width * (p.q() - 1);
}
/// Output gradients with their sums, gradients of q and of k_in.
inline double attention_backward_bytes(const CostPoint& p, double copies = 1) {
  const AttentionCost a(p, copies);
  if (p.q() == 1) return 0;
  return a.n * a.sum_width * ((2 * a.channels + a.heads) * (a.cp1 - 1) + a.channels * a.cp0);
}
/// What is saved beside the inputs: q of the rows and k_in of the columns; maxima and sums; of the plain layers around
/// them q, the gate and its logits, the result and their product; in bf16 copies of five weights.
inline double attention_saved_bytes(const CostPoint& p, double copies = 1) {
  const AttentionCost a(p, copies);
  const double weights = p.element_bytes < 4 ? 5 * a.channels * a.channels * a.width : 0;
  return a.n * a.width * a.channels * (a.cp0 + a.cp1 + 5) +
         a.n * a.sum_width * (a.heads * a.cp1 + a.channels + a.heads) + weights + 4096;
}

}  // namespace cpize::parity
