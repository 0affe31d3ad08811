#include <cuda_bf16.h>

#include "trunk/cuda/launch.cuh"
#include "trunk/cuda/pointwise_kernels.hpp"
#include "trunk/cuda/row_norm.cuh"

namespace cpize::trunk::cuda {
namespace {

constexpr int kThreads = 256, kRowThreads = 16, kWidth = 128;  // 16 threads of 8 channels hold a row

struct Eight {
  float at[8];
};
__device__ __forceinline__ Eight unpack(const uint4& v) {
  return {{low(v.x), high(v.x), low(v.y), high(v.y), low(v.z), high(v.z), low(v.w), high(v.w)}};
}
__device__ __forceinline__ uint4 packed(const Eight& e) {
  return {pack(e.at[0], e.at[1]), pack(e.at[2], e.at[3]), pack(e.at[4], e.at[5]), pack(e.at[6], e.at[7])};
}
__device__ __forceinline__ float sum_of_row(float x) {
#pragma unroll
  for (int offset = 1; offset < kRowThreads; offset *= 2) x += __shfl_xor_sync(~0u, x, offset);
  return x;
}
/// Standardises in place; returns rstd.
__device__ __forceinline__ float standardise(Eight& x, float epsilon) {
  float sum = 0, squares = 0;
#pragma unroll
  for (float v : x.at) sum += v;
  const float mean = sum_of_row(sum) * (1.0f / kWidth);
#pragma unroll
  for (float& v : x.at) {
    v -= mean;
    squares += v * v;
  }
  const float rstd = rsqrtf(sum_of_row(squares) * (1.0f / kWidth) + epsilon);
#pragma unroll
  for (float& v : x.at) v *= rstd;
  return rstd;
}

__global__ void normalise_kernel(const uint4* x, const float* weight, const float* bias, float epsilon, uint4* y,
                                 int64_t rows) {
  const int part = threadIdx.x % kRowThreads;
  const int64_t step = static_cast<int64_t>(gridDim.x) * (kThreads / kRowThreads);
  const int64_t all = (rows + 1) / 2 * 2;  // both rows of a warp take part in its shuffles
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * (kThreads / kRowThreads) + threadIdx.x / kRowThreads; row < all;
       row += step) {
    Eight e = row < rows ? unpack(__ldg(x + row * kRowThreads + part)) : Eight{};
    standardise(e, epsilon);
#pragma unroll
    for (int i = 0; i < 8; ++i) e.at[i] = e.at[i] * weight[part * 8 + i] + bias[part * 8 + i];
    if (row < rows) y[row * kRowThreads + part] = packed(e);
  }
}

__global__ void normalise_backward_kernel(const float4* dy, const uint4* x, const float* weight, float epsilon,
                                          uint4* dx, float* partial, int64_t rows) {
  __shared__ float sums[kThreads / kRowThreads][2][kWidth];
  const int part = threadIdx.x % kRowThreads, slot = threadIdx.x / kRowThreads;
  const int64_t step = static_cast<int64_t>(gridDim.x) * (kThreads / kRowThreads);
  const int64_t all = (rows + 1) / 2 * 2;
  Eight of_weight{}, of_bias{};
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * (kThreads / kRowThreads) + slot; row < all; row += step) {
    Eight n = row < rows ? unpack(__ldg(x + row * kRowThreads + part)) : Eight{};
    const float rstd = standardise(n, epsilon);
    Eight g{};
    if (row < rows) {
      const float4 a = __ldg(dy + (row * kRowThreads + part) * 2), b = __ldg(dy + (row * kRowThreads + part) * 2 + 1);
      g = {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
    }
    float sum = 0, product = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      of_weight.at[i] += g.at[i] * n.at[i];
      of_bias.at[i] += g.at[i];
      g.at[i] *= weight[part * 8 + i];
      sum += g.at[i];
      product += g.at[i] * n.at[i];
    }
    sum = sum_of_row(sum) * (1.0f / kWidth);
    product = sum_of_row(product) * (1.0f / kWidth);
#pragma unroll
    for (int i = 0; i < 8; ++i) g.at[i] = rstd * (g.at[i] - sum - n.at[i] * product);
    if (row < rows) dx[row * kRowThreads + part] = packed(g);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    sums[slot][0][part * 8 + i] = of_weight.at[i];
    sums[slot][1][part * 8 + i] = of_bias.at[i];
  }
  __syncthreads();
  float total = 0;  // in a fixed order
  for (int s = 0; s < kThreads / kRowThreads; ++s) total += sums[s][threadIdx.x / kWidth][threadIdx.x % kWidth];
  partial[static_cast<int64_t>(blockIdx.x) * 2 * kWidth + threadIdx.x] = total;
}

__device__ __forceinline__ float exact_sigmoid(float x) { return 1.0f / (1.0f + __expf(-x)); }

__global__ void gate_kernel(const uint32_t* u, const uint32_t* v, uint32_t* h, int64_t pairs) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < pairs;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const uint32_t a = u[i], b = v[i];
    h[i] = pack(low(a) * exact_sigmoid(low(a)) * low(b), high(a) * exact_sigmoid(high(a)) * high(b));
  }
}

struct Gradients {
  float du, dv, h;
};
__device__ __forceinline__ Gradients gate_gradients(float u, float v, float dh) {
  const float s = exact_sigmoid(u), silu = u * s;
  return {dh * v * (s + silu * (1.0f - s)), dh * silu, silu * v};
}

__global__ void gate_backward_kernel(const uint32_t* u, const uint32_t* v, const uint32_t* dh, uint32_t* du,
                                     uint32_t* dv, uint32_t* h, int64_t pairs) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < pairs;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const uint32_t a = u[i], b = v[i], g = dh[i];
    const Gradients first = gate_gradients(low(a), low(b), low(g)), second = gate_gradients(high(a), high(b), high(g));
    du[i] = pack(first.du, second.du);
    dv[i] = pack(first.dv, second.dv);
    h[i] = pack(first.h, second.h);
  }
}

int blocks_for(int64_t threads_wanted) {
  const int64_t wanted = (threads_wanted + kThreads - 1) / kThreads, most = multiprocessors() * 8;
  return static_cast<int>(wanted < most ? wanted : most);
}

}  // namespace

void normalise_rows(const void* x, const float* weight, const float* bias, float epsilon, void* y, int64_t rows,
                    void* stream) {
  if (rows == 0) return;
  normalise_kernel<<<blocks_for(rows * kRowThreads), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const uint4*>(x), weight, bias, epsilon, static_cast<uint4*>(y), rows);
  check(cudaGetLastError(), "normalise_rows");
}

int normalise_rows_backward(const float* dy, const void* x, const float* weight, float epsilon, void* dx,
                            float* partial, int64_t rows, void* stream) {
  const int blocks = rows == 0 ? 0 : blocks_for(rows * kRowThreads);
  if (dy == nullptr || blocks == 0) return blocks;
  normalise_backward_kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      reinterpret_cast<const float4*>(dy), static_cast<const uint4*>(x), weight, epsilon, static_cast<uint4*>(dx),
      partial, rows);
  check(cudaGetLastError(), "normalise_rows_backward");
  return blocks;
}

void gate(const void* u, const void* v, void* h, int64_t count, void* stream) {
  if (count == 0) return;
  gate_kernel<<<blocks_for(count / 2), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const uint32_t*>(u), static_cast<const uint32_t*>(v), static_cast<uint32_t*>(h), count / 2);
  check(cudaGetLastError(), "gate");
}

void gate_backward(const void* u, const void* v, const void* dh, void* du, void* dv, void* h, int64_t count,
                   void* stream) {
  if (count == 0) return;
  gate_backward_kernel<<<blocks_for(count / 2), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const uint32_t*>(u), static_cast<const uint32_t*>(v), static_cast<const uint32_t*>(dh),
      static_cast<uint32_t*>(du), static_cast<uint32_t*>(dv), static_cast<uint32_t*>(h), count / 2);
  check(cudaGetLastError(), "gate_backward");
}

}  // namespace cpize::trunk::cuda
