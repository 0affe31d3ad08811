// One warp takes 16 pairs at a time, held as an operand of the tensor cores; weights, with the norm's factor multiplied
// in, lie in shared memory in the order in which a thread needs them.
#include "trunk/cuda/launch.cuh"
#include "trunk/cuda/tiles.cuh"
#include "trunk/pairformer/cuda/pair_bias_kernels.hpp"

namespace cpize::trunk::cuda {
namespace {

constexpr int kPairs = 16, kForwardWarps = 8, kBackwardWarps = 4, kBlocksPerMultiprocessor = 2;
constexpr int kTerms = 2;  // bf16 terms of an operand

/// d [16 x 8] += A [16 x 16] B [16 x 8]; fragments as in wgmma.cuh, B's registers hold (k = 2t.., n = g), (2t + 8..,
/// g).
__device__ __forceinline__ void multiply_tile(float (&d)[4], const uint32_t (&a)[4], const uint2& b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
}

/// Two numbers as kTerms pairs of bf16.
struct Split {
  uint32_t high, low;
};
__device__ __forceinline__ Split split(float a, float b) {
  const uint32_t first = pack(a, b);
  return {first, pack(a - low(first), b - high(first))};
}

struct Arguments {
  const bf16* z;
  PairBiasParameters parameters;
  const bool* excluded;
  int64_t columns;
  float excluded_value;
  const float* dbias;
  float *bias, *partial;
  bf16* dz;
  int64_t pairs;
};

/// The projection times the norm's weight.
__device__ __forceinline__ float weight_of(const PairBiasParameters& p, int head, int channel) {
  return head < p.heads ? p.projection[head * kChannels + channel] * p.norm[channel] : 0.0f;
}

/// This warp's 16 pairs: rows lane / 4 and that + 8; zeros past the end.
__device__ __forceinline__ int64_t first_pair(int64_t tile) { return tile * kPairs + lane() / 4; }

__global__ void __launch_bounds__(kForwardWarps * 32, kBlocksPerMultiprocessor) pair_bias_kernel(const Arguments p) {
  __shared__ uint2 weights[8][2][kTerms][32];  // k-step, heads 8 j .., term, lane
  __shared__ float constant[kMostHeads];       // what the norm's bias gives each head
  const int t = lane() % 4;
  for (int i = threadIdx.x; i < 8 * 2 * 32; i += blockDim.x) {
    const int step = i / 64, j = i / 32 % 2, head = 8 * j + i % 32 / 4, column = 16 * step + 2 * (i % 4);
    const auto two = [&](int c) {
      return split(weight_of(p.parameters, head, channel_of(c)), weight_of(p.parameters, head, channel_of(c + 1)));
    };
    const Split first = two(column), second = two(column + 8);
    weights[step][j][0][i % 32] = {first.high, second.high};
    weights[step][j][1][i % 32] = {first.low, second.low};
  }
  if (threadIdx.x < kMostHeads) {
    float sum = 0;
    if (threadIdx.x < p.parameters.heads)
      for (int c = 0; c < kChannels; ++c)
        sum += p.parameters.projection[threadIdx.x * kChannels + c] * p.parameters.norm_bias[c];
    constant[threadIdx.x] = sum;
  }
  __syncthreads();

  const int64_t tiles = (p.pairs + kPairs - 1) / kPairs, step = static_cast<int64_t>(gridDim.x) * kForwardWarps;
  for (int64_t tile = static_cast<int64_t>(blockIdx.x) * kForwardWarps + threadIdx.x / 32; tile < tiles; tile += step) {
    const int64_t first = first_pair(tile);
    RowFragment x;
    load_rows(x, p.z, first, p.pairs);
    const RowStatistics of_row[2] = {statistics_of(x, 0, p.parameters.epsilon),
                                     statistics_of(x, 1, p.parameters.epsilon)};
    float sum[2][4] = {};
#pragma unroll
    for (int s = 0; s < 8; ++s) {
      uint32_t high_term[4], low_term[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const RowStatistics& of = of_row[i % 2];
        const Split n = split((low(x[s][i]) - of.mean) * of.rstd, (high(x[s][i]) - of.mean) * of.rstd);
        high_term[i] = n.high;
        low_term[i] = n.low;
      }
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const uint2 w = weights[s][j][0][lane()];
        multiply_tile(sum[j], high_term, w);
        multiply_tile(sum[j], low_term, w);
        multiply_tile(sum[j], high_term, weights[s][j][1][lane()]);
      }
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int64_t pair = first + 8 * h;
      if (pair >= p.pairs) continue;
      const bool excluded = p.excluded != nullptr && p.excluded[pair % p.columns];
#pragma unroll
      for (int j = 0; j < 2; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int head = 8 * j + 2 * t + e;
          if (head < p.parameters.heads)
            p.bias[head * p.pairs + pair] = excluded ? p.excluded_value : sum[j][2 * h + e] + constant[head];
        }
    }
  }
}

/// A tile of 8 rows of 8 numbers, turned over.
__device__ __forceinline__ uint32_t transposed(uint32_t tile) {
  uint32_t result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(tile));
  return result;
}

__global__ void __launch_bounds__(kBackwardWarps * 32, kBlocksPerMultiprocessor)
    pair_bias_backward_kernel(const Arguments p) {
  __shared__ uint2 weights[16][kTerms][32];  // channels of columns 8 j .., term, lane: k runs over heads
  extern __shared__ float sums[];            // [warp][kPairBiasPartial]
  const int g = lane() / 4, t = lane() % 4, warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < 16 * 32; i += blockDim.x) {
    const int channel = channel_of(8 * (i / 32) + i % 32 / 4), head = 2 * (i % 4);
    const auto two = [&](int h) {
      return split(weight_of(p.parameters, h, channel), weight_of(p.parameters, h + 1, channel));
    };
    const Split first = two(head), second = two(head + 8);
    weights[i / 32][0][i % 32] = {first.high, second.high};
    weights[i / 32][1][i % 32] = {first.low, second.low};
  }
  __syncthreads();
  const auto gradient = [&](int head, int64_t pair) {
    return head < p.parameters.heads && pair < p.pairs ? __ldg(p.dbias + head * p.pairs + pair) : 0.0f;
  };

  float x_sum[16][4] = {}, total[2] = {};  // heads g and g + 8
  const int64_t tiles = (p.pairs + kPairs - 1) / kPairs, step = static_cast<int64_t>(gridDim.x) * kBackwardWarps;
  for (int64_t tile = static_cast<int64_t>(blockIdx.x) * kBackwardWarps + warp; tile < tiles; tile += step) {
    const int64_t first = first_pair(tile);
    RowFragment n;
    load_rows(n, p.z, first, p.pairs);
    float rstd[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const RowStatistics of_row = statistics_of(n, h, p.parameters.epsilon);
      rstd[h] = of_row.rstd;
      standardise(n, h, of_row);
    }
    {  // X += dbias^T n over these pairs: heads are rows, pairs are summed
      uint32_t high_term[4], low_term[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int64_t pair = tile * kPairs + 2 * t + 8 * (i / 2);
        const float a = gradient(g + 8 * (i % 2), pair), b = gradient(g + 8 * (i % 2), pair + 1);
        total[i % 2] += a + b;
        const Split s = split(a, b);
        high_term[i] = s.high;
        low_term[i] = s.low;
      }
#pragma unroll
      for (int b = 0; b < 16; ++b) {
        const uint2 column = {transposed(n[b / 2][2 * (b % 2)]), transposed(n[b / 2][2 * (b % 2) + 1])};
        multiply_tile(x_sum[b], high_term, column);
        multiply_tile(x_sum[b], low_term, column);
      }
    }
    if (p.dz == nullptr) continue;
    float d[64] = {};
    {
      uint32_t high_term[4], low_term[4];  // pairs are rows, heads are summed
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int head = 2 * t + 8 * (i / 2);
        const int64_t pair = first + 8 * (i % 2);
        const Split s = split(gradient(head, pair), gradient(head + 1, pair));
        high_term[i] = s.high;
        low_term[i] = s.low;
      }
#pragma unroll
      for (int b = 0; b < 16; ++b) {
        float(&tile_of_d)[4] = *reinterpret_cast<float(*)[4]>(&d[4 * b]);
        const uint2 w = weights[b][0][lane()];
        multiply_tile(tile_of_d, high_term, w);
        multiply_tile(tile_of_d, low_term, w);
        multiply_tile(tile_of_d, high_term, weights[b][1][lane()]);
      }
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      standardised_adjoint(d, n, h, rstd[h]);  // the norm's weight is in the projection's
      pack_sums(n, d, h);
    }
    store_rows(n, p.dz, kChannels, first, p.pairs);
  }

  float* of_warp = sums + warp * kPairBiasPartial;
#pragma unroll
  for (int b = 0; b < 16; ++b)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      of_warp[(g + 8 * (i / 2)) * kPairBiasColumns + channel_of(8 * b + 2 * t + i % 2)] = x_sum[b][i];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float of_head = sum_of_quad(total[h]);
    if (t == 0) of_warp[(g + 8 * h) * kPairBiasColumns + kChannels] = of_head;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kPairBiasPartial; i += blockDim.x) {  // in a fixed order
    float sum = 0;
    for (int w = 0; w < kBackwardWarps; ++w) sum += sums[w * kPairBiasPartial + i];
    p.partial[static_cast<int64_t>(blockIdx.x) * kPairBiasPartial + i] = sum;
  }
}

int blocks_for(int64_t pairs, int warps) {
  const int64_t wanted = (pairs + kPairs * warps - 1) / (kPairs * warps),
                most = static_cast<int64_t>(multiprocessors()) * kBlocksPerMultiprocessor;
  return static_cast<int>(wanted < most ? wanted : most);
}

}  // namespace

void pair_bias(const void* z, const PairBiasParameters& parameters, const bool* excluded, int64_t columns,
               float excluded_value, float* bias, int64_t pairs, void* stream) {
  if (pairs == 0) return;
  Arguments p{};
  p.z = static_cast<const bf16*>(z);
  p.parameters = parameters;
  p.excluded = excluded;
  p.columns = columns;
  p.excluded_value = excluded_value;
  p.bias = bias;
  p.pairs = pairs;
  pair_bias_kernel<<<blocks_for(pairs, kForwardWarps), kForwardWarps * 32, 0, static_cast<cudaStream_t>(stream)>>>(p);
  check(cudaGetLastError(), "pair_bias");
}

int pair_bias_partials(int64_t pairs) { return blocks_for(pairs, kBackwardWarps); }

void pair_bias_backward(const float* dbias, const void* z, const PairBiasParameters& parameters, void* dz,
                        float* partial, int64_t pairs, void* stream) {
  if (pairs == 0) return;
  Arguments p{};
  p.z = static_cast<const bf16*>(z);
  p.parameters = parameters;
  p.dbias = dbias;
  p.dz = static_cast<bf16*>(dz);
  p.partial = partial;
  p.pairs = pairs;
  constexpr int kShared = kBackwardWarps * kPairBiasPartial * 4;
  check(cudaFuncSetAttribute(pair_bias_backward_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared),
        "pair_bias_backward");
  pair_bias_backward_kernel<<<pair_bias_partials(pairs), kBackwardWarps * 32, kShared,
                              static_cast<cudaStream_t>(stream)>>>(p);
  check(cudaGetLastError(), "pair_bias_backward");
}

}  // namespace cpize::trunk::cuda
