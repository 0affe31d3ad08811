// Fill: the loops under random/draw.hpp, over raw memory, for CPU and GPU. No torch in here.
#pragma once
#include <cstdint>

#include "random/stream.hpp"

namespace cpize::random {

/// A rectangle of a global tensor in the order in which it is stored: element (i0, i1, ...) of the rectangle is
/// element base + sum_d stride[d] i_d of the global tensor.
struct StoredBox {
  static constexpr int max_dims = 6;
  int dims = 0;
  std::int64_t size[max_dims]{}, stride[max_dims]{};
  std::int64_t base = 0;
};

enum class Distribution { uniform, normal };

/// Writes elements [begin, end) of the rectangle, counted in stored order, to out[begin], ..., out[end - 1].
void fill(float* out, Distribution distribution, const StreamKey& key, const StoredBox& box, std::int64_t begin,
          std::int64_t end);
void fill(double* out, Distribution distribution, const StreamKey& key, const StoredBox& box, std::int64_t begin,
          std::int64_t end);

/// All of it on the current device, in the order of `stream` (a cudaStream_t).
namespace cuda {
void fill(float* out, Distribution distribution, const StreamKey& key, const StoredBox& box, void* stream);
void fill(double* out, Distribution distribution, const StreamKey& key, const StoredBox& box, void* stream);
}  // namespace cuda

}  // namespace cpize::random
