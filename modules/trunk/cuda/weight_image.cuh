// Weight images: weights in bf16, in the order and swizzle in which the tensor cores read them from shared memory.
//
// An image of R rows and 128 columns is two panels of 64 columns; a panel is R rows of 128 bytes, whose eight 16-byte
// chunks are permuted by row (chunk ^ row % 8: the 128-byte swizzle). `prepare_weights` makes it once a call in global
// memory; a kernel copies it as it is.
#pragma once
#include <cuda_bf16.h>

#include <cstdint>

#include "trunk/cuda/channel_order.hpp"

namespace cpize::trunk::cuda {

inline constexpr int kChannels = 128;

/// Byte offset of (row, column) in an image of `rows` rows.
__host__ __device__ constexpr int image_offset(int rows, int row, int column) {
  return (column / 64) * rows * 128 + row * 128 + ((((column % 64) / 8) ^ (row % 8)) * 16) + (column % 8) * 2;
}

/// The same address, of which the compiler does not know that it is: descriptors are then made where they are used
/// instead of all being kept in registers across a loop.
__device__ __forceinline__ uint32_t here(uint32_t image) {
  asm volatile("" : "+r"(image));
  return image;
}

/// B[n][k]: n from row `row`, k = 16 step ...
__device__ __forceinline__ uint64_t weights_by_row(uint32_t image, int rows, int row, int step) {
  const uint32_t at = image + (step / 4) * rows * 128 + row * 128 + (step % 4) * 32;
  return (uint64_t(1) << 62) | (uint64_t(1024 >> 4) << 32) | (uint64_t(1) << 16) | (at >> 4);
}

/// B[k][n]: k from row `row`, n = 0 .. 127.
__device__ __forceinline__ uint64_t weights_by_column(uint32_t image, int rows, int row) {
  const uint32_t at = image + row * 128;
  return (uint64_t(1) << 62) | (uint64_t(1024 >> 4) << 32) | (uint64_t(rows * 128 >> 4) << 16) | (at >> 4);
}

/// All threads of the block copy the image to shared memory; follow with __syncthreads().
__device__ __forceinline__ void load_image(char* to, const void* image, int bytes) {
  for (int i = threadIdx.x; i < bytes / 16; i += blockDim.x)
    reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(image)[i];
  // read next by the tensor cores, which see shared memory through another proxy
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace cpize::trunk::cuda
