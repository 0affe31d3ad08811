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

/// The same of a row: what is loaded from it is not loaded earlier.
__device__ __forceinline__ int64_t here(int64_t row) {
  asm volatile("" : "+l"(row)::"memory");
  return row;
}

/// A descriptor of the tensor cores: address, distances of panels and of groups of eight rows, swizzle. Made by adding
/// to what an image has in common, so that one addition a product remains.
__device__ __forceinline__ uint64_t descriptor(uint32_t image, int panel_distance, int offset) {
  const uint32_t low = ((image >> 4) | (uint32_t(panel_distance) << 16)) + (offset >> 4);
  return (uint64_t((1u << 30) | (1024u >> 4)) << 32) | low;
}

/// B[n][k]: n from row `row`, k = 16 step ...
__device__ __forceinline__ uint64_t weights_by_row(uint32_t image, int rows, int row, int step) {
  return descriptor(image, 1, (step / 4) * rows * 128 + row * 128 + (step % 4) * 32);
}

/// B[k][n]: k from row `row`, n = 0 .. 127.
__device__ __forceinline__ uint64_t weights_by_column(uint32_t image, int rows, int row) {
  return descriptor(image, rows * 128 >> 4, row * 128);
}

/// All threads of the block copy the image to shared memory; follow with __syncthreads().
__device__ __forceinline__ void load_image(char* to, const void* image, int bytes) {
  for (int i = threadIdx.x; i < bytes / 16; i += blockDim.x)
    reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(image)[i];
  // read next by the tensor cores, which see shared memory through another proxy
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace cpize::trunk::cuda
