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

/// The same for both halves, with the statistics of each: parameters are read once and no more registers taken.
__device__ __forceinline__ void normalise(RowFragment& x, float epsilon, const float* weight, const float* bias) {
  const int t = threadIdx.x % 4;
  const RowStatistics statistics[2] = {statistics_of(x, 0, epsilon), statistics_of(x, 1, epsilon)};
  one_at_a_time();
#pragma unroll
  for (int k = 0; k < 8; ++k)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 w = read_here(weight + 16 * k + 8 * half + 2 * t), b = read_here(bias + 16 * k + 8 * half + 2 * t);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const RowStatistics& s = statistics[h];
        uint32_t& pair = x[k][h + 2 * half];
        pair = pack((low(pair) - s.mean) * s.rstd * w.x + b.x, (high(pair) - s.mean) * s.rstd * w.y + b.y);
      }
      if (half == 1 && k % 2 == 1) one_at_a_time();
    }
}

/// The adjoint of standardising, half h: d, the gradient at the standardised row n, becomes that of the row itself,
/// rstd (d - mean(d) - n mean(d n)). d are sums of a product of 128 columns.
__device__ __forceinline__ void standardised_adjoint(float (&d)[64], const RowFragment& n, int h, float rstd) {
  float sum = 0, product = 0;
#pragma unroll
  for (int b = 0; b < 16; ++b) {
    const uint32_t pair = n[b / 2][h + 2 * (b % 2)];
    const float d0 = d[4 * b + 2 * h], d1 = d[4 * b + 2 * h + 1];
    sum += d0 + d1;
    product += d0 * low(pair) + d1 * high(pair);
  }
  sum = sum_of_quad(sum) * (1.0f / 128);
  product = sum_of_quad(product) * (1.0f / 128);
#pragma unroll
  for (int b = 0; b < 16; ++b) {
    const uint32_t pair = n[b / 2][h + 2 * (b % 2)];
    float &d0 = d[4 * b + 2 * h], &d1 = d[4 * b + 2 * h + 1];
    d0 = rstd * (d0 - sum - low(pair) * product);
    d1 = rstd * (d1 - sum - high(pair) * product);
  }
}

/// The norm's adjoint, half h, where d is the gradient at n w + b; w lies in the order of the fragment's columns.
__device__ __forceinline__ void norm_adjoint(float (&d)[64], const RowFragment& n, int h, float rstd,
                                             const float* weight) {
  const int t = threadIdx.x % 4;
#pragma unroll
  for (int b = 0; b < 16; ++b) {
    const float2 w = read_here(weight + 8 * b + 2 * t);
    d[4 * b + 2 * h] *= w.x;
    d[4 * b + 2 * h + 1] *= w.y;
  }
  standardised_adjoint(d, n, h, rstd);
}

/// Sums of a product as the operand of the next: the same thread holds the same elements of both, half h.
template <int kSteps>
__device__ __forceinline__ void pack_sums(uint32_t (&x)[kSteps][4], const float (&c)[8 * kSteps], int h) {
#pragma unroll
  for (int b = 0; b < 2 * kSteps; ++b) x[b / 2][h + 2 * (b % 2)] = pack(c[4 * b + 2 * h], c[4 * b + 2 * h + 1]);
}
/// c += x.
template <int kSteps>
__device__ __forceinline__ void add_fragment(float (&c)[8 * kSteps], const uint32_t (&x)[kSteps][4]) {
#pragma unroll
  for (int b = 0; b < 2 * kSteps; ++b)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const uint32_t pair = x[b / 2][h + 2 * (b % 2)];
      c[4 * b + 2 * h] += low(pair);
      c[4 * b + 2 * h + 1] += high(pair);
    }
}

__device__ __forceinline__ float sigmoid(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(0.5f * x));
  return fmaf(0.5f, y, 0.5f);
}
__device__ __forceinline__ float silu(float x) { return x * sigmoid(x); }

}  // namespace cpize::trunk::cuda
