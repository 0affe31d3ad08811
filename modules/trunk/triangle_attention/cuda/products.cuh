// Operands of warpgroup products that are tiles of 32 columns, and a narrow product (wgmma.cuh has the others).
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

/// c [64 x 8] (+)= A [64 x 16] (registers) B [16 x 8] (shared memory).
template <int kTransposedB>
__device__ __forceinline__ void multiply(float (&c)[4], const uint32_t (&a)[4], uint64_t b, int add) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %9, 0; "
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, p, 1, 1, %10;}"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(kTransposedB));
}

/// c [64 x 8] += A^T [64 x 16] B [16 x 8], both in shared memory: A lies as [16 rows][64 columns], 128 bytes a row.
__device__ __forceinline__ void multiply_transposed(float (&c)[4], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 1, 0;"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "l"(a), "l"(b));
}

}  // namespace cpize::trunk::cuda
