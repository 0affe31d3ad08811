// Tiles: how a warpgroup (128 threads) moves 64 positions between global memory and matrix fragments.
//
// Two orders of memory meet here. Rows: [position][128 channels], read and written 16 bytes a thread. Channel-first:
// [channel][positions], which passes through a stage in shared memory and is transposed by ldmatrix and stmatrix.
// Positions past `count` read as zero and are not written. Where rows of channel-first memory do not start at multiples
// of 16 bytes (an odd number of positions), elements move one by one: slower, and right for every size.
#pragma once
#include <stdexcept>

#include "trunk/cuda/row_norm.cuh"
#include "trunk/cuda/triangle_kernels.hpp"
#include "trunk/cuda/weight_image.cuh"

namespace cpize::trunk::cuda {

using bf16 = __nv_bfloat16;

inline constexpr int kTile = 64;                  // positions of a warpgroup's tile
inline constexpr int kStageRow = kTile * 2 + 16;  // bytes of one channel in a stage; the pad keeps banks apart
inline constexpr int kExtended = kChannels + 8;   // a standardised row, then 1, then zeros (weight_sums)

__device__ __forceinline__ int lane() { return threadIdx.x % 32; }
__device__ __forceinline__ int warp_of_group() { return (threadIdx.x / 32) % 4; }
__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
/// A barrier of one warpgroup.
__device__ __forceinline__ void group_barrier() {
  asm volatile("bar.sync %0, 128;" ::"r"(1 + int(threadIdx.x) / 128) : "memory");
}

/// First row of this thread in the tile; the second is eight further.
__device__ __forceinline__ int64_t first_row(int64_t tile) { return tile * kTile + warp_of_group() * 16 + lane() / 4; }

// ---- rows

/// kSteps k-steps of rows of kChannels. kOwn: rows that this very thread has written in this kernel (not through the
/// read-only cache).
template <bool kOwn = false, int kSteps>
__device__ __forceinline__ void load_rows(uint32_t (&x)[kSteps][4], const bf16* rows, int64_t first, int64_t count) {
  const int t = lane() % 4;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int64_t row = first + 8 * h;
    const uint4* from = reinterpret_cast<const uint4*>(rows + row * kChannels) + t;
#pragma unroll
    for (int m = 0; m < kSteps / 2; ++m) {
      const uint4 v = row >= count ? uint4{0, 0, 0, 0} : kOwn ? from[4 * m] : __ldg(from + 4 * m);
      x[2 * m][h] = v.x;
      x[2 * m][h + 2] = v.y;
      x[2 * m + 1][h] = v.z;
      x[2 * m + 1][h + 2] = v.w;
    }
  }
}

/// Rows of a whole tile into L2, a 128-byte line a thread: the next tile arrives while this one is worked on.
__device__ __forceinline__ void prefetch_rows(const bf16* rows, int64_t tile, int64_t count) {
  const int line = threadIdx.x % 128;
  if (tile * kTile + line / 2 < count)
    asm volatile(
        "prefetch.global.L2 [%0];" ::"l"(reinterpret_cast<const char*>(rows + tile * kTile * kChannels) + line * 128));
}

/// One access of 16 bytes: left to itself the compiler makes four of 4 where the registers are in use elsewhere.
__device__ __forceinline__ void store_16(bf16* to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

/// kSteps k-steps of a fragment to rows of `stride` elements; column L goes to element channel_of(L).
template <int kSteps>
__device__ __forceinline__ void store_rows(const uint32_t (&x)[kSteps][4], bf16* rows, int64_t stride, int64_t first,
                                           int64_t count) {
  const int t = lane() % 4;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int64_t row = first + 8 * h;
    if (row >= count) continue;
#pragma unroll
    for (int m = 0; m < kSteps / 2; ++m)
      store_16(rows + row * stride + 32 * m + 8 * t, x[2 * m][h], x[2 * m][h + 2], x[2 * m + 1][h],
               x[2 * m + 1][h + 2]);
  }
}

/// Standardised rows, extended by (1, 0, .., 0), to [row][kExtended]. The tile is always written whole (rows past
/// `count` hold zeros, as they do in a fragment of standardised zeros), so `rows` must have room for it.
__device__ __forceinline__ void store_extended(const RowFragment& standard, bf16* rows, int64_t first, int64_t count) {
  const int64_t all = INT64_MAX;
  store_rows(standard, rows, kExtended, first, all);
  if (lane() % 4 != 0) return;
#pragma unroll
  for (int h = 0; h < 2; ++h)
    *reinterpret_cast<uint4*>(rows + (first + 8 * h) * kExtended + kChannels) =
        uint4{first + 8 * h < count ? pack(1.0f, 0.0f) : 0u, 0, 0, 0};
}

// ---- channel-first

/// ChannelMemory as the kernels use it.
struct Channels {
  bf16* block[ChannelMemory::kMostBlocks];
  int block_bits;
  int64_t step;  // elements from one channel to the next
  bool aligned;  // 16-byte accesses are possible

  /// Position 0 of a channel.
  __device__ __forceinline__ bf16* at(int channel) const {
    return block[channel >> block_bits] + (channel & ((1 << block_bits) - 1)) * step;
  }

  static Channels of(const ChannelMemory& memory, int64_t step, int64_t count) {
    Channels c{{}, 0, step, count % 8 == 0};
    while (1 << c.block_bits < memory.block_channels) ++c.block_bits;
    const int blocks = kChannels / memory.block_channels;
    if (1 << c.block_bits != memory.block_channels || blocks > ChannelMemory::kMostBlocks)
      throw std::invalid_argument("blocks of channels must be powers of two, and not too many");
    for (int k = 0; k < blocks; ++k) {
      c.block[k] = static_cast<bf16*>(memory.block[k]);
      c.aligned = c.aligned && reinterpret_cast<uintptr_t>(c.block[k]) % 16 == 0;
    }
    return c;
  }
};

/// kCount channels from `channel`, shifted by `offset` elements, positions of the tile that begins at `position`, to a
/// stage. Asynchronous where aligned: follow with wait_stage() and group_barrier().
template <int kCount>
__device__ __forceinline__ void load_stage(char* stage, const Channels& from, int channel, int64_t offset,
                                           int64_t position, int64_t count) {
  for (int i = threadIdx.x % 128; i < kCount * 8; i += 128) {
    const int c = i / 8, part = i % 8;
    const bf16* source = from.at(channel + c) + offset + position + 8 * part;
    char* target = stage + c * kStageRow + part * 16;
    if (from.aligned && position + 8 * part + 8 <= count) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(target)), "l"(source) : "memory");
    } else {
      for (int e = 0; e < 8; ++e)
        reinterpret_cast<bf16*>(target)[e] = position + 8 * part + e < count ? source[e] : bf16(0.0f);
    }
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kPending>
__device__ __forceinline__ void wait_stage() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// This warp's 16 positions of kSteps * 16 channels of a stage, as an A fragment (column = channel).
template <int kSteps>
__device__ __forceinline__ void read_stage(uint32_t (&x)[kSteps][4], const char* stage) {
  const int matrix = lane() / 8, row = lane() % 8;
  const uint32_t at =
      shared_address(stage) + (8 * (matrix / 2) + row) * kStageRow + (warp_of_group() * 16 + 8 * (matrix % 2)) * 2;
#pragma unroll
  for (int s = 0; s < kSteps; ++s)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[s][0]), "=r"(x[s][1]), "=r"(x[s][2]), "=r"(x[s][3])
                 : "r"(at + s * 16 * kStageRow)
                 : "memory");
}

/// The way back.
template <int kSteps>
__device__ __forceinline__ void write_stage(const uint32_t (&x)[kSteps][4], char* stage) {
  const int matrix = lane() / 8, row = lane() % 8;
  const uint32_t at =
      shared_address(stage) + (8 * (matrix / 2) + row) * kStageRow + (warp_of_group() * 16 + 8 * (matrix % 2)) * 2;
#pragma unroll
  for (int s = 0; s < kSteps; ++s)
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at + s * 16 * kStageRow),
        "r"(x[s][0]), "r"(x[s][1]), "r"(x[s][2]), "r"(x[s][3])
        : "memory");
}

/// kCount channels of a stage to memory; call between group barriers.
template <int kCount>
__device__ __forceinline__ void store_stage(const char* stage, const Channels& to, int channel, int64_t offset,
                                            int64_t position, int64_t count) {
  for (int i = threadIdx.x % 128; i < kCount * 8; i += 128) {
    const int c = i / 8, part = i % 8;
    bf16* target = to.at(channel + c) + offset + position + 8 * part;
    const char* source = stage + c * kStageRow + part * 16;
    if (to.aligned && position + 8 * part + 8 <= count) {
      *reinterpret_cast<uint4*>(target) = *reinterpret_cast<const uint4*>(source);
    } else {
      for (int e = 0; e < 8; ++e)
        if (position + 8 * part + e < count) target[e] = reinterpret_cast<const bf16*>(source)[e];
    }
  }
}

/// Norm parameters to shared memory, in natural order or in the order of columns that stand for channel_of(column).
__device__ __forceinline__ void load_norm(float* to, const float* weight, const float* bias, bool permuted) {
  for (int i = threadIdx.x; i < kChannels; i += blockDim.x) {
    const int c = permuted ? channel_of(i) : i;
    to[i] = weight[c];
    to[kChannels + i] = bias[c];
  }
}

}  // namespace cpize::trunk::cuda
