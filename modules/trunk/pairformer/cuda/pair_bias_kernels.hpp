// Kernels of the bias of token attention for GPUs: a norm over each pair and its projection to at most 16 heads, in one
// pass over z, forward and backward. Launchers, no torch.
//
//   bias[h][p] = sum_c projection[h][c] n_c,   n = (x - mean) rstd w + b,   x = z[p]
//
// z and dz are bf16 rows of 128 channels; everything else is fp32, and so is the arithmetic: operands
// of the tensor cores are split into two bf16 terms, whose products are right to 2^-17. All pointers are device memory,
// z and dz aligned to 16 bytes; work runs on `stream` (a cudaStream_t).
#pragma once
#include <cstdint>

namespace cpize::trunk::cuda {

inline constexpr int kMostHeads = 16;

struct PairBiasParameters {
  const float *norm, *norm_bias;  // [128]
  const float* projection;        // [heads, 128]
  int heads;                      // at most kMostHeads
  float epsilon;
};

/// z [pairs, 128] -> bias [heads, pairs]. `excluded` [columns] bool (or null): pair p gets `excluded_value` where
/// excluded[p % columns].
void pair_bias(const void* z, const PairBiasParameters& parameters, const bool* excluded, std::int64_t columns,
               float excluded_value, float* bias, std::int64_t pairs, void* stream);

/// How many partial sums pair_bias_backward leaves for so many pairs, and what one holds: [16, 129].
int pair_bias_partials(std::int64_t pairs);
inline constexpr int kPairBiasColumns = 129, kPairBiasPartial = kMostHeads * kPairBiasColumns;

/// dbias [heads, pairs] -> dz [pairs, 128] (null: not wanted) and, for each part of the pairs, X[h] = sum_p dbias (n,
/// 1) with n the standardised row, as in weight_sums.hpp: partial [pair_bias_partials, 16, 129].
void pair_bias_backward(const float* dbias, const void* z, const PairBiasParameters& parameters, void* dz,
                        float* partial, std::int64_t pairs, void* stream);

}  // namespace cpize::trunk::cuda
