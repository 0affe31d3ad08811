// Forward of the transition: each warpgroup keeps 64 normalised rows and their sums in registers, and walks over the
// hidden channels 32 at a time: fc1 and fc2 in one product of 64 columns, gate, and on with fc3.
#include "trunk/cuda/launch.cuh"
#include "trunk/cuda/transition_kernels.hpp"
#include "trunk/cuda/weight_ring.cuh"
#include "trunk/cuda/wgmma.cuh"

namespace cpize::trunk::cuda {
namespace {

constexpr int kGroups = 3, kRows = kGroups * kTile, kOfFc3 = 2 * kTransitionSliceHidden * 256;
using Ring = WeightRing<8, kTransitionSliceBytes, kGroups>;
constexpr int kShared = Ring::kBytes + 2 * kChannels * 4;

struct Arguments {
  const bf16* rows;
  const void* image;
  TriangleNorm norm;
  bf16* y;
  int64_t count;
  int slices;
  bool residual;
};

__global__ void __launch_bounds__(kGroups * 128, 1) transition_kernel(const Arguments p) {
  extern __shared__ __align__(1024) char shared[];
  float* norm = reinterpret_cast<float*>(shared + Ring::kBytes);
  load_norm(norm, p.norm.weight, p.norm.bias, true);
  const int64_t blocks = (p.count + kRows - 1) / kRows;
  const Ring ring(shared, p.image, p.slices,
                  static_cast<int>((blocks - blockIdx.x + gridDim.x - 1) / gridDim.x) * p.slices);

  int use = 0;
  for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const int64_t tile = block * kGroups + threadIdx.x / 128, first = first_row(tile);
    RowFragment x;
    load_rows(x, p.rows, first, p.count);
    prefetch_rows(p.rows, tile + static_cast<int64_t>(gridDim.x) * kGroups, p.count);
    normalise(x, p.norm.epsilon, norm, norm + kChannels);
    float y[64];
#pragma unroll 1
    for (int part = 0; part < p.slices; ++part, ++use) {
      const uint32_t slice = ring.acquire(use);
      float c[32];
      touch(x);
      touch(c);
      begin_products();
#pragma unroll
      for (int s = 0; s < 8; ++s) multiply<0>(c, x[s], weights_by_row(slice, 64, 0, s), s > 0);
      end_products();
      touch(c);
      uint32_t hidden[2][4];
#pragma unroll
      for (int b = 0; b < 4; ++b)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int at = 4 * b + 2 * h;
          hidden[b / 2][h + 2 * (b % 2)] = pack(silu(c[at]) * c[16 + at], silu(c[at + 1]) * c[17 + at]);
        }
      touch(hidden);
      touch(y);
      begin_products();
#pragma unroll
      for (int s = 0; s < 2; ++s)
        multiply<1>(y, hidden[s], weights_by_column(slice + kOfFc3, 32, 16 * s), part > 0 || s > 0);
      end_products();
      touch(y);
      ring.release(use);
    }
    RowFragment out;
    if (p.residual) {
      load_rows(out, p.rows, first, p.count);
      add_fragment(y, out);
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) pack_sums(out, y, h);
    store_rows(out, p.y, kChannels, first, p.count);
  }
}

/// Slice j: rows 32 j .. of fc1, the same of fc2, then of fc3 transposed. Columns stand for channel_of(column) where
/// they meet rows in registers: everywhere, except that backward multiplies fc3 with rows in shared memory.
__global__ void prepare_kernel(const bf16* fc1, const bf16* fc2, const bf16* fc3, int hidden, bool plain_fc3,
                               char* image) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / kChannels, column = i % kChannels;
  if (row >= hidden) return;
  char* slice = image + static_cast<int64_t>(row / 32) * kTransitionSliceBytes;
  const int of_fc1 = image_offset(64, row % 32, column), of_fc2 = image_offset(64, 32 + row % 32, column);
  *reinterpret_cast<bf16*>(slice + of_fc1) = fc1[row * kChannels + channel_of(column)];
  *reinterpret_cast<bf16*>(slice + of_fc2) = fc2[row * kChannels + channel_of(column)];
  *reinterpret_cast<bf16*>(slice + kOfFc3 + image_offset(32, row % 32, column)) =
      fc3[static_cast<int64_t>(plain_fc3 ? column : channel_of(column)) * hidden + row];
}

}  // namespace

void prepare_transition_weights(const void* fc1, const void* fc2, const void* fc3, int hidden, bool backward,
                                void* image, void* stream) {
  prepare_kernel<<<(hidden * kChannels + 255) / 256, 256, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const bf16*>(fc1), static_cast<const bf16*>(fc2), static_cast<const bf16*>(fc3), hidden, backward,
      static_cast<char*>(image));
  check(cudaGetLastError(), "prepare_transition_weights");
}

void transition_forward(const void* rows, const void* image, const TriangleNorm& norm, int hidden, bool residual,
                        void* y, int64_t count, void* stream) {
  const Arguments p{static_cast<const bf16*>(rows),  image,   norm, static_cast<bf16*>(y), count,
                    hidden / kTransitionSliceHidden, residual};
  launch("transition_forward", transition_kernel, (count + kRows - 1) / kRows, kGroups * 128, kShared, stream, p);
}

}  // namespace cpize::trunk::cuda
