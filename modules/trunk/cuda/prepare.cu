// Weight images and block copies.
#include "trunk/cuda/launch.cuh"
#include "trunk/cuda/tiles.cuh"
#include "trunk/cuda/triangle_kernels.hpp"

namespace cpize::trunk::cuda {
namespace {

/// Rows 64 j .. + 31 of the edges image are rows 32 j .. of p_in, the next 32 the same rows of g_in; columns stand for
/// channel_of(column), since z's rows are read that way.
__global__ void prepare_edges(const bf16* p_in, const bf16* g_in, char* image) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / kChannels, column = i % kChannels;
  const bf16* source = row % 64 < 32 ? p_in : g_in;
  *reinterpret_cast<bf16*>(image + image_offset(512, row, column)) =
      source[((row / 64) * 32 + row % 32) * kChannels + channel_of(column)];
}

/// p_out, whose columns meet channel-first sums, and g_out, whose columns meet rows of z; rows of both are written as
/// rows of y.
__global__ void prepare_output(const bf16* p_out, const bf16* g_out, char* image) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / kChannels, column = i % kChannels;
  const int offset = image_offset(kChannels, row, column);
  *reinterpret_cast<bf16*>(image + offset) = p_out[channel_of(row) * kChannels + column];
  *reinterpret_cast<bf16*>(image + kOutputImageBytes / 2 + offset) =
      g_out[channel_of(row) * kChannels + channel_of(column)];
}

struct Strided {
  const bf16* from;
  bf16* to;
  int64_t from_item, from_row, to_item, to_row, items, rows, columns;
};

template <class Unit>
__global__ void copy_kernel(const Strided p) {
  constexpr int kUnit = sizeof(Unit) / sizeof(bf16);
  const int64_t units = p.columns / kUnit, all = p.items * p.rows * units;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < all;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const int64_t line = i / units, column = (i - line * units) * kUnit, item = line / p.rows,
                  row = line - item * p.rows;
    *reinterpret_cast<Unit*>(p.to + item * p.to_item + row * p.to_row + column) =
        *reinterpret_cast<const Unit*>(p.from + item * p.from_item + row * p.from_row + column);
  }
}

}  // namespace

void prepare_triangle_weights(const void* p_in, const void* g_in, const void* p_out, const void* g_out,
                              void* edges_image, void* output_image, void* stream) {
  const auto s = static_cast<cudaStream_t>(stream);
  prepare_edges<<<512 * kChannels / 256, 256, 0, s>>>(static_cast<const bf16*>(p_in), static_cast<const bf16*>(g_in),
                                                      static_cast<char*>(edges_image));
  prepare_output<<<kChannels * kChannels / 256, 256, 0, s>>>(
      static_cast<const bf16*>(p_out), static_cast<const bf16*>(g_out), static_cast<char*>(output_image));
  check(cudaGetLastError(), "prepare_triangle_weights");
}

void copy_blocks(const void* from, int64_t from_item, int64_t from_row, void* to, int64_t to_item, int64_t to_row,
                 int64_t items, int64_t rows, int64_t columns, void* stream) {
  if (items * rows * columns == 0) return;
  const Strided p{static_cast<const bf16*>(from),
                  static_cast<bf16*>(to),
                  from_item,
                  from_row,
                  to_item,
                  to_row,
                  items,
                  rows,
                  columns};
  const uint64_t mixed = reinterpret_cast<uintptr_t>(from) / 2 | reinterpret_cast<uintptr_t>(to) / 2 | from_item |
                         from_row | to_item | to_row | columns;
  const auto s = static_cast<cudaStream_t>(stream);
  const int blocks = multiprocessors() * 8;
  if (mixed % 8 == 0)
    copy_kernel<uint4><<<blocks, 256, 0, s>>>(p);
  else
    copy_kernel<bf16><<<blocks, 256, 0, s>>>(p);
  check(cudaGetLastError(), "copy_blocks");
}

}  // namespace cpize::trunk::cuda
