// What the four attention kernels share: how they treat 64 x 32 scores at a time.
//
// The accumulators of a score product start from T, times log2(e), minus the query's shift (backward: minus the log of
// its sum): one FFMA an element, which a plain zero would cost as well. One step of a warpgroup waits for the tensor
// cores, takes the exponentials of these scores and at once prepares the same registers for the next product, so that
// the exponential unit and the FMA pipe work side by side. The four warpgroups of a block run free of each other.
#pragma once
#include <cuda_bf16.h>

#include "trunk/cuda/row_norm.cuh"
#include "trunk/triangle_attention/cuda/attention_kernels.hpp"
#include "trunk/triangle_attention/cuda/products.cuh"

namespace cpize::trunk::cuda {

inline constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.6931471805599453f;
inline constexpr float kScoreScale = 0.17677669529663687f;  // 1 / sqrt(32)
inline constexpr float kQueryScale = kScoreScale * kLog2E;
inline constexpr int kTileBytes = 4096, kBiasTile = 8192;  // a tile of an image; 64 x 64 of T
inline constexpr int kShiftsAt = 2 * kTileBytes;           // in a block of query gradients

__device__ __forceinline__ float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// 64 x 64 of T are 8 KiB in one piece, [16-row block][16-column block][lane][8]: lane l of a 16 x 16 block holds rows
/// g, g + 8 (g = l / 4) of columns 2t, 2t + 1 (t = l % 4), then of 2t + 8, 2t + 9: the accumulators of a product.
/// Elements from the start to the block of rows 16 a and columns 16 b of head h; tiles of a column follow each other.
__host__ __device__ __forceinline__ int64_t fragment_offset(int padded, int h, int a, int b) {
  const int64_t tiles = padded / 64;
  return ((h * tiles + (b >> 2)) * tiles + (a >> 2)) * 4096 + ((a & 3) * 4 + (b & 3)) * 256;
}
__device__ __forceinline__ void unpack(float* to, const uint4& x) {
  to[0] = low(x.x);
  to[1] = high(x.x);
  to[2] = low(x.y);
  to[3] = high(x.y);
  to[4] = low(x.z);
  to[5] = high(x.z);
  to[6] = low(x.w);
  to[7] = high(x.w);
}

/// This warp's 16 rows from `row` of a tile in global memory, as an A fragment.
__device__ __forceinline__ void load_tile_fragment(uint32_t (&a)[2][4], const char* tile, int row) {
  const int g = (threadIdx.x & 31) >> 2, t = threadIdx.x & 3;
#pragma unroll
  for (int e = 0; e < 4; ++e)
#pragma unroll
    for (int s = 0; s < 2; ++s)
      a[s][e] = *reinterpret_cast<const uint32_t*>(tile + tile_offset(row + g + (e & 1) * 8, s * 2 + (e >> 1)) + t * 4);
}

/// Shifts. In backward, scores are shifted by the log of the query's sum, and the gradients at the weights by delta:
/// two additions an element, which the tensor cores do as well: q and the gradient of o have 16 more columns each, of
/// which k and v hold ones and zeros. Both shifts, negative, in three bf16 parts (24 bits), lie in one tile: columns 0
/// to 2 and 3 to 5, then zeros; [64 queries][16], rows of 32 bytes whose two chunks are swapped in rows 4 to 7 of each
/// eight.
__host__ __device__ constexpr uint32_t shifts_offset(int row, int chunk) {
  return row * 32 + ((chunk ^ ((row >> 2) & 1)) << 4);
}
__device__ __forceinline__ uint64_t shifts_at(uint32_t place) {
  return (static_cast<uint64_t>((256 >> 4) | (3u << 30)) << 32) | place;
}
inline constexpr uint32_t kOne = 0x3f80, kShiftsHalf = 32 * 32 / 16;
/// Words of a row of ones that choose the logs, or the deltas.
struct ShiftOnes {
  static __device__ __forceinline__ uint32_t logs(int word) {
    return word == 0 ? kOne << 16 | kOne : word == 1 ? kOne : 0;
  }
  static __device__ __forceinline__ uint32_t deltas(int word) {
    return word == 1 ? kOne << 16 : word == 2 ? kOne << 16 | kOne : 0;
  }
};
/// Chunk 0 of a query's shifts.
__device__ __forceinline__ uint4 shift_parts(float log, float delta) {
  const auto split = [](float x, float(&part)[3]) {
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      part[i] = __bfloat162float(__float2bfloat16(x));
      x -= part[i];
    }
  };
  float l[3], d[3];
  split(log, l);
  split(delta, d);
  return uint4{pack(l[0], l[1]), pack(l[2], d[0]), pack(d[1], d[2]), 0};
}
/// 64 such rows in shared memory; follow with a proxy fence and __syncthreads().
inline constexpr int kOnesBytes = 2048;
__device__ __forceinline__ void store_ones(char* tile, bool deltas) {
  for (int i = threadIdx.x; i < 2 * 64; i += blockDim.x) {
    uint4 ones{};
    if (i % 2 == 0)
      ones = deltas ? uint4{ShiftOnes::deltas(0), ShiftOnes::deltas(1), ShiftOnes::deltas(2), 0}
                    : uint4{ShiftOnes::logs(0), ShiftOnes::logs(1), ShiftOnes::logs(2), 0};
    *reinterpret_cast<uint4*>(tile + shifts_offset(i / 2, i % 2)) = ones;
  }
}

/// Masked keys of these 32 get score -inf.
__device__ __forceinline__ void mask_scores(float (&s)[16], uint32_t valid) {
  valid >>= 2 * (threadIdx.x & 3);
#pragma unroll
  for (int n = 0; n < 4; ++n)
#pragma unroll
    for (int c = 0; c < 4; ++c)
      if (!((valid >> (n * 8 + (c & 1))) & 1)) s[n * 4 + c] = -INFINITY;
}

/// Words of a row of `valid`: two beyond the end may be fetched.
__host__ __device__ constexpr int valid_words(int padded) { return padded / 32 + 2; }

/// Blocks of 64 keys (or queries) of a row that are walked over.
__host__ __device__ constexpr int stages_of(int positions) { return positions <= 256 ? 4 : (positions + 63) / 64; }

/// One item of work: a block of positions, a group of rows, a head.
struct AttentionItem {
  int block, rows, head;
  __device__ __forceinline__ static AttentionItem of(int index, int blocks, int row_groups) {
    const int head_and_rows = index / blocks;
    return {index % blocks, head_and_rows % row_groups, head_and_rows / row_groups};
  }
  /// Field by field: a choice between the two as wholes would put them into memory.
  __device__ __forceinline__ static AttentionItem either(bool first, const AttentionItem& a, const AttentionItem& b) {
    return {first ? a.block : b.block, first ? a.rows : b.rows, first ? a.head : b.head};
  }
};

/// A block of an image.
__device__ __forceinline__ const char* image_block(const void* image, int row, int head, int tiles, int tile,
                                                   int bytes) {
  return static_cast<const char*>(image) + ((static_cast<int64_t>(row) * kHeads + head) * tiles + tile) * bytes;
}

}  // namespace cpize::trunk::cuda
