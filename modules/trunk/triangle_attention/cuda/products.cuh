// More warpgroup products (wgmma.cuh has the others): a narrow one, and those on tiles of 32 columns.
//
// A tile is [64 positions][32 channels] bf16, rows of 64 bytes whose four 16-byte chunks are permuted by row (the
// 64-byte swizzle). It serves as B[n = position][k = channel] (kTransposedB = 0; the next 16 channels are 32 bytes
// further) and as B[k = position][n = channel] (kTransposedB = 1; the next 16 positions are 1024 bytes further).
#pragma once
#include <cstdint>

#include "trunk/cuda/wgmma.cuh"

namespace cpize::trunk::cuda {

/// Byte offset of chunk c of row r of a tile.
__host__ __device__ constexpr uint32_t tile_offset(int row, int chunk) {
  return row * 64 + ((chunk ^ ((row >> 1) & 3)) << 4);
}

/// A tile's place in descriptors: shared address / 16, below 256 KiB. Adding n moves it by 16 n bytes.
__device__ __forceinline__ uint32_t tile_place(uint32_t shared) { return (shared >> 4) | 0x10000u; }
__device__ __forceinline__ uint64_t tile_at(uint32_t place) {
  return (static_cast<uint64_t>((512 >> 4) | (2u << 30)) << 32) | place;
}

__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wait_products() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

/// c [64 x 8] (+)= A [64 x 16] (registers) B [16 x 8] (shared memory).
template <int kTransposedB>
__device__ __forceinline__ void multiply(float (&c)[4], const uint32_t (&a)[4], uint64_t b, int add) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %9, 0; "
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, p, 1, 1, %10;}"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(kTransposedB));
}

/// c [64 x 32] (+)= A [64 x 16] B [16 x 32], both in shared memory, A by rows.
template <int kTransposedB>
__device__ __forceinline__ void multiply_shared(float (&c)[16], uint64_t a, uint64_t b, int add) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %18, 0; "
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, p, 1, 1, 0, %19;}"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]), "+f"(c[8]),
        "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15])
      : "l"(a), "l"(b), "r"(add), "n"(kTransposedB));
}

}  // namespace cpize::trunk::cuda
