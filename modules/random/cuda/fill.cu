#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "random/element.hpp"
#include "random/fill.hpp"

namespace cpize::random::cuda {
namespace {

template <bool normal, class T>
__global__ void fill_kernel(T* out, StreamKey key, StoredBox box, std::int64_t count) {
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    std::int64_t index = box.base, rest = i;
#pragma unroll
    for (int d = StoredBox::max_dims - 1; d >= 0; --d) {
      if (d >= box.dims) continue;
      index += rest % box.size[d] * box.stride[d];
      rest /= box.size[d];
    }
    if constexpr (normal)
      normal_of(bits_at(key, index), out[i]);
    else
      uniform_of(bits_at(key, index), out[i]);
  }
}

template <class T>
void launch(T* out, Distribution distribution, const StreamKey& key, const StoredBox& box, void* stream) {
  std::int64_t count = 1;
  for (int d = 0; d < box.dims; ++d) count *= box.size[d];
  if (count == 0) return;
  constexpr int kThreads = 256;
  constexpr std::int64_t kMostBlocks = 4096;
  const auto blocks = static_cast<unsigned>(std::min(kMostBlocks, (count + kThreads - 1) / kThreads));
  const auto on = static_cast<cudaStream_t>(stream);
  if (distribution == Distribution::normal)
    fill_kernel<true><<<blocks, kThreads, 0, on>>>(out, key, box, count);
  else
    fill_kernel<false><<<blocks, kThreads, 0, on>>>(out, key, box, count);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    throw std::runtime_error(std::string("random draws on a GPU: ") + cudaGetErrorString(error));
}

}  // namespace

void fill(float* out, Distribution distribution, const StreamKey& key, const StoredBox& box, void* stream) {
  launch(out, distribution, key, box, stream);
}
void fill(double* out, Distribution distribution, const StreamKey& key, const StoredBox& box, void* stream) {
  launch(out, distribution, key, box, stream);
}

}  // namespace cpize::random::cuda
