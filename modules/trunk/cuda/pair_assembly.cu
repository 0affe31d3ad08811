#include <cuda_bf16.h>

#include <algorithm>

#include "trunk/cuda/launch.cuh"
#include "trunk/cuda/pair_assembly_kernels.hpp"
#include "trunk/cuda/row_norm.cuh"

namespace cpize::trunk::cuda {
namespace {

constexpr int kThreads = 256, kSharedBytes = 220 * 1024;

__device__ __forceinline__ void add8(float (&to)[8], const float* from) {
  const float4 a = *reinterpret_cast<const float4*>(from), b = *reinterpret_cast<const float4*>(from + 4);
  to[0] += a.x, to[1] += a.y, to[2] += a.z, to[3] += a.w, to[4] += b.x, to[5] += b.y, to[6] += b.z, to[7] += b.w;
}
__device__ __forceinline__ void add8(float (&to)[8], const __nv_bfloat16* from) {
  const uint4 v = *reinterpret_cast<const uint4*>(from);
  const uint32_t pairs[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    to[2 * i] += low(pairs[i]);
    to[2 * i + 1] += high(pairs[i]);
  }
}
__device__ __forceinline__ void store8(float* to, const float (&v)[8]) {
  reinterpret_cast<float4*>(to)[0] = {v[0], v[1], v[2], v[3]};
  reinterpret_cast<float4*>(to)[1] = {v[4], v[5], v[6], v[7]};
}
__device__ __forceinline__ void store8(__nv_bfloat16* to, const float (&v)[8]) {
  *reinterpret_cast<uint4*>(to) = {pack(v[0], v[1]), pack(v[2], v[3]), pack(v[4], v[5]), pack(v[6], v[7])};
}
__device__ __forceinline__ float value_of(float x) { return x; }
__device__ __forceinline__ float value_of(__nv_bfloat16 x) { return __bfloat162float(x); }

template <class T>
__global__ void assemble_kernel(const PairPanel p, const T* rows, const T* columns, const float* table,
                                const float* bond, T* z) {
  const int parts = p.channels / 8;
  const int64_t all = p.row_count * p.column_count * parts;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < all;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const int64_t position = i / parts, row = position / p.column_count, column = position - row * p.column_count;
    const int channel = static_cast<int>(i - position * parts) * 8;
    float sum[8] = {};
#pragma unroll
    for (int k = 0; k < 4; ++k) add8(sum, table + p.index[k][position] * p.channels + channel);
    const float b = p.bonds[position];
    if (b != 0) {
#pragma unroll
      for (int c = 0; c < 8; ++c) sum[c] += b * bond[channel + c];
    }
    add8(sum, rows + row * p.channels + channel);
    add8(sum, columns + column * p.channels + channel);
    store8(z + position * p.channels + channel, sum);
  }
}

/// A group of `channels` threads owns a table of sums in shared memory, a thread a channel, and walks its positions.
template <class T>
__global__ void sum_kernel(const PairPanel p, const T* g, float* partial) {
  extern __shared__ float sums[];  // [groups][classes][channels]
  const int groups = blockDim.x / p.channels, group = threadIdx.x / p.channels, c = threadIdx.x % p.channels;
  float* mine = sums + static_cast<int64_t>(group) * p.classes * p.channels + c;
  for (int k = 0; k < p.classes; ++k) mine[k * p.channels] = 0;
  float of_bond = 0;
  const int64_t all = p.row_count * p.column_count, walkers = static_cast<int64_t>(gridDim.x) * groups;
  const int64_t walker = static_cast<int64_t>(blockIdx.x) * groups + group;
  const int64_t end = all * (walker + 1) / walkers;
  for (int64_t position = all * walker / walkers; position < end; ++position) {
    const float v = value_of(g[position * p.channels + c]);
    const float b = p.bonds[position];
#pragma unroll
    for (int k = 0; k < 4; ++k) mine[p.index[k][position] * p.channels] += v;
    of_bond += b * v;
  }
  __syncthreads();
  float* to = partial + static_cast<int64_t>(blockIdx.x) * (p.classes + 1) * p.channels;
  for (int i = threadIdx.x; i < p.classes * p.channels; i += blockDim.x) {
    float total = 0;
    for (int q = 0; q < groups; ++q) total += sums[q * p.classes * p.channels + i];
    to[i] = total;
  }
  __syncthreads();
  sums[threadIdx.x] = of_bond;
  __syncthreads();
  if (group == 0) {
    float total = 0;
    for (int q = 0; q < groups; ++q) total += sums[q * p.channels + c];
    to[p.classes * p.channels + c] = total;
  }
}

int groups_for(const PairPanel& p) {
  const int table = p.classes * p.channels * 4;
  return std::min({kSharedBytes / std::max(table, 1), 1024 / p.channels, 4});
}

}  // namespace

void assemble_pair_panel(const PairPanel& p, const void* rows, const void* columns, const float* table,
                         const float* bond, void* z, void* stream) {
  const int64_t threads = p.row_count * p.column_count * (p.channels / 8);
  if (threads == 0) return;
  const int blocks = static_cast<int>(std::min<int64_t>((threads + kThreads - 1) / kThreads, multiprocessors() * 8));
  const auto s = static_cast<cudaStream_t>(stream);
  if (p.narrow)
    assemble_kernel<<<blocks, kThreads, 0, s>>>(p, static_cast<const __nv_bfloat16*>(rows),
                                                static_cast<const __nv_bfloat16*>(columns), table, bond,
                                                static_cast<__nv_bfloat16*>(z));
  else
    assemble_kernel<<<blocks, kThreads, 0, s>>>(p, static_cast<const float*>(rows), static_cast<const float*>(columns),
                                                table, bond, static_cast<float*>(z));
  check(cudaGetLastError(), "assemble_pair_panel");
}

int pair_sum_blocks(const PairPanel& p) { return groups_for(p) < 1 ? 0 : multiprocessors(); }

void sum_pair_panel(const PairPanel& p, const void* g, float* partial, void* stream) {
  const int groups = groups_for(p), bytes = groups * p.classes * p.channels * 4;
  const auto start = [&](auto kernel, auto typed) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "sum_pair_panel");
    kernel<<<pair_sum_blocks(p), groups * p.channels, bytes, static_cast<cudaStream_t>(stream)>>>(p, typed, partial);
    check(cudaGetLastError(), "sum_pair_panel");
  };
  if (p.narrow)
    start(sum_kernel<__nv_bfloat16>, static_cast<const __nv_bfloat16*>(g));
  else
    start(sum_kernel<float>, static_cast<const float*>(g));
}

}  // namespace cpize::trunk::cuda
