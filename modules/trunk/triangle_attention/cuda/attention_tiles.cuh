// Tiles of triangle attention: 64 positions of one row, for the kernels that are one pass over memory.
#pragma once
#include "trunk/cuda/tiles.cuh"
#include "trunk/cuda/wgmma.cuh"
#include "trunk/triangle_attention/cuda/attention_kernels.hpp"
#include "trunk/triangle_attention/cuda/products.cuh"

namespace cpize::trunk::cuda {

/// Which tile of which row, of rows of `tiles` tiles.
struct RowTile {
  int64_t row;
  int tile;

  __device__ __forceinline__ static RowTile of(int index, int tiles) { return {index / tiles, index % tiles}; }
  /// First position of this thread; the second is eight further.
  __device__ __forceinline__ int position() const { return tile * kTile + warp_of_group() * 16 + lane() / 4; }
};

__device__ __forceinline__ bf16* position_row(const PositionRows& rows, int64_t row, int position) {
  return static_cast<bf16*>(rows.at) + row * rows.row_step + position * rows.position_step;
}

/// Columns of the fragment stand for channel_of(column), as in load_rows.
__device__ __forceinline__ void load_positions(RowFragment& x, const PositionRows& rows, const RowTile& at, int count) {
  const int t = lane() % 4, first = at.position();
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const bool there = first + 8 * h < count;
    const uint4* from = reinterpret_cast<const uint4*>(position_row(rows, at.row, there ? first + 8 * h : 0)) + t;
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      const uint4 v = there ? __ldg(from + 4 * m) : uint4{0, 0, 0, 0};
      x[2 * m][h] = v.x;
      x[2 * m][h + 2] = v.y;
      x[2 * m + 1][h] = v.z;
      x[2 * m + 1][h + 2] = v.w;
    }
  }
}

__device__ __forceinline__ void prefetch_positions(const PositionRows& rows, const RowTile& at, int count) {
  const int line = threadIdx.x % 128, position = at.tile * kTile + line / 2;
  if (position < count)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(position_row(rows, at.row, position) + (line % 2) * 64));
}

/// 32 m .. + 31 of a position's channels: accumulators of that column group in order channel_of, two rows at a time.
template <int kSteps>
__device__ __forceinline__ uint4 channels_of(const uint32_t (&x)[kSteps][4], int m, int h) {
  return uint4{x[2 * m][h], x[2 * m][h + 2], x[2 * m + 1][h], x[2 * m + 1][h + 2]};
}
__device__ __forceinline__ uint32_t pair_of(const uint4& v, int b) {
  return b == 0 ? v.x : b == 1 ? v.y : b == 2 ? v.z : v.w;
}

/// Pairs a + b of bf16; `a` may be overwritten by this very kernel, so it is no read-only load.
__device__ __forceinline__ uint4 plus_row(const uint4& sums, const bf16* row) {
  const uint4 old = *reinterpret_cast<const uint4*>(row);
  const auto plus = [](uint32_t x, uint32_t y) { return pack(low(x) + low(y), high(x) + high(y)); };
  return uint4{plus(sums.x, old.x), plus(sums.y, old.y), plus(sums.z, old.z), plus(sums.w, old.w)};
}

/// 128 columns in order channel_of, times `scale`, to the blocks of an image, one a head; zeros past the row's end.
__device__ __forceinline__ void store_heads(const float (&c)[64], char* image, int block_bytes, const RowTile& at,
                                            int tiles, int count, float scale) {
  const int first = at.position(), in_tile = first - at.tile * kTile;
  char* block = image + (at.row * kHeads * tiles + at.tile) * block_bytes + tile_offset(in_tile, lane() % 4);
#pragma unroll
  for (int head = 0; head < kHeads; ++head, block += static_cast<int64_t>(tiles) * block_bytes)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float* x = c + 16 * head + 2 * h;
      const float factor = first + 8 * h < count ? scale : 0.0f;
      *reinterpret_cast<uint4*>(block + h * 8 * 64) =  // eight rows further chunks are permuted alike
          uint4{pack(x[0] * factor, x[1] * factor), pack(x[4] * factor, x[5] * factor),
                pack(x[8] * factor, x[9] * factor), pack(x[12] * factor, x[13] * factor)};
    }
}

/// `rows` rows from `from_row` of an image of `from_rows` rows to rows from `to_row` of another; multiples of 8. Follow
/// with finish_images() and __syncthreads().
__device__ __forceinline__ void load_image_rows(char* to, int to_rows, int to_row, const void* from, int from_rows,
                                                int from_row, int rows) {
  for (int i = threadIdx.x; i < rows * 16; i += blockDim.x) {
    const int panel = i / (rows * 8), part = i % (rows * 8);
    reinterpret_cast<uint4*>(to)[panel * to_rows * 8 + to_row * 8 + part] =
        __ldg(static_cast<const uint4*>(from) + panel * from_rows * 8 + from_row * 8 + part);
  }
}
__device__ __forceinline__ void finish_images() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// Sections of the image that prepare_attention_weights makes: [q k v g linear], o, o transposed.
__device__ __forceinline__ const char* section(const void* image, int which) {
  return static_cast<const char*>(image) + (which == 0 ? 0 : kInputRows * 256 + (which - 1) * 128 * 256);
}

}  // namespace cpize::trunk::cuda
