// Strided copy: between two strided memories by a GPU's copy engine, which uses no multiprocessor.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

namespace cpize::comm::peers {

/// One axis of a copy: how many, and how many bytes apart in the two memories.
struct CopyAxis {
  std::int64_t size, to_stride, from_stride;
};

/// A copy of `axes` (outermost first) of runs of `run` bytes, which lie together in both memories.
struct CopyShape {
  std::vector<CopyAxis> axes;
  std::int64_t run = 0;

  /// Of elements; axes that lie together in both are joined. Strides in elements, outermost first.
  static CopyShape of(const std::int64_t* sizes, const std::int64_t* to, const std::int64_t* from, std::size_t dims,
                      std::int64_t element_bytes);
};

void copy_strided(char* to, const char* from, const CopyShape& shape, cudaStream_t stream);

}  // namespace cpize::comm::peers
