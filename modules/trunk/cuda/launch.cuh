// Launching: a persistent grid, one block an SM, with as much shared memory as the kernel needs; errors become
// exceptions with the kernel's name.
#pragma once
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace cpize::trunk::cuda {

inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

inline int multiprocessors() {
  int device = 0, count = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  return count;
}

template <class Kernel, class... Arguments>
void launch(const char* name, Kernel kernel, int64_t wanted_blocks, int threads, int shared_bytes, void* stream,
            const Arguments&... arguments) {
  if (wanted_blocks <= 0) return;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes), name);
  const int64_t blocks = wanted_blocks < multiprocessors() ? wanted_blocks : multiprocessors();
  kernel<<<static_cast<unsigned>(blocks), threads, shared_bytes, static_cast<cudaStream_t>(stream)>>>(arguments...);
  check(cudaGetLastError(), name);
}

}  // namespace cpize::trunk::cuda
