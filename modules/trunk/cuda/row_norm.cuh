// Layer normalisation of rows held in matrix fragments: each row of 128 channels lies in the four threads of a quad.
#pragma once
#include <cuda_bf16.h>

#include <cstdint>

namespace cpize::trunk::cuda {

/// Eight k-steps of a 64 x 16 A fragment: a warp's 16 rows of 128 channels, bf16 pairs. Half h of a row pair is row
/// g + 8 h; its channels are registers [step][h] and [step][h + 2].
using RowFragment = uint32_t[8][4];

__device__ __forceinline__ float low(uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float high(uint32_t pair) { return __uint_as_float(pair & 0xffff0000u); }
__device__ __forceinline__ uint32_t pack(float low_value, float high_value) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high_value), "f"(low_value));
  return pair;
}

__device__ __forceinline__ float sum_of_quad(float x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}

/// Two floats of shared memory, read where they are used: plain reads of a norm's parameters would be hoisted and
/// shared between rows, at a price of 32 registers.
__device__ __forceinline__ float2 read_here(const float* p) {
  float2 v;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
               : "=f"(v.x), "=f"(v.y)
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(p))));
  return v;
}

/// Work on one half of a fragment ends before that on the other begins: side by side, both would be kept unpacked,
/// which takes more registers than there are.
__device__ __forceinline__ void one_at_a_time() { __syncwarp(); }

struct RowStatistics {
  float mean, rstd;
};

/// Of half `h` (0 or 1) of the fragment; two passes over registers, as exact as a two-pass layer norm.
__device__ __forceinline__ RowStatistics statistics_of(const RowFragment& x, int h, float epsilon) {
  float sum = 0;
#pragma unroll
  for (int s = 0; s < 8; ++s) sum += (low(x[s][h]) + high(x[s][h])) + (low(x[s][h + 2]) + high(x[s][h + 2]));
  const float mean = sum_of_quad(sum) * (1.0f / 128);
  float squares = 0;
#pragma unroll
  for (int s = 0; s < 8; ++s)
#pragma unroll
    for (int half = 0; half < 4; half += 2) {
      const float a = low(x[s][h + half]) - mean, b = high(x[s][h + half]) - mean;
      squares += a * a + b * b;
    }
  return {mean, rsqrtf(sum_of_quad(squares) * (1.0f / 128) + epsilon)};
}

/// n = (x - mean) rstd.
__device__ __forceinline__ void standardise(RowFragment& x, int h, const RowStatistics& s) {
#pragma unroll
  for (int k = 0; k < 8; ++k) {
#pragma unroll
    for (int half = 0; half < 4; half += 2) {
      uint32_t& pair = x[k][h + half];
      pair = pack((low(pair) - s.mean) * s.rstd, (high(pair) - s.mean) * s.rstd);
    }
    if (k % 2 == 1) one_at_a_time();
  }
}

/// A standardised fragment times w plus b.
__device__ __forceinline__ void scale_and_shift(RowFragment& x, const float* weight, const float* bias) {
  const int t = threadIdx.x % 4;
#pragma unroll
  for (int k = 0; k < 8; ++k)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 w = read_here(weight + 16 * k + 8 * half + 2 * t), b = read_here(bias + 16 * k + 8 * half + 2 * t);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        uint32_t& pair = x[k][h + 2 * half];
        pair = pack(fmaf(low(pair), w.x, b.x), fmaf(high(pair), w.y, b.y));
      }
      if (half == 1 && k % 2 == 1) one_at_a_time();
    }
}

/// n w + b in one rounding, where w and b lie in shared memory in the order of the fragment's columns.
__device__ __forceinline__ void normalise(RowFragment& x, int h, const RowStatistics& s, const float* weight,
                                          const float* bias) {
  const int t = threadIdx.x % 4;
#pragma unroll
  for (int k = 0; k < 8; ++k)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int column = 16 * k + 8 * half + 2 * t;
      const float2 w = *reinterpret_cast<const float2*>(weight + column);
      const float2 b = *reinterpret_cast<const float2*>(bias + column);
      uint32_t& pair = x[k][h + 2 * half];
      pair = pack((low(pair) - s.mean) * s.rstd * w.x + b.x, (high(pair) - s.mean) * s.rstd * w.y + b.y);
    }
}

__device__ __forceinline__ float sigmoid(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(0.5f * x));
  return fmaf(0.5f, y, 0.5f);
}

}  // namespace cpize::trunk::cuda
