#include "comm/peers/strided_copy.hpp"

#include <c10/cuda/CUDAException.h>

#include <algorithm>

namespace cpize::comm::peers {
namespace {

/// May the two inner axes go into one call? The runtime states planes as so many rows of the same pitch.
bool stacks(const CopyAxis& planes, const CopyAxis& rows) {
  return planes.to_stride % rows.to_stride == 0 && planes.from_stride % rows.from_stride == 0 &&
         planes.to_stride / rows.to_stride >= rows.size && planes.from_stride / rows.from_stride >= rows.size;
}

std::size_t inner_axes(const std::vector<CopyAxis>& axes) {
  if (axes.size() >= 2 && stacks(axes[axes.size() - 2], axes.back())) return 2;
  return std::min<std::size_t>(axes.size(), 1);
}

}  // namespace

CopyShape CopyShape::of(const std::int64_t* sizes, const std::int64_t* to, const std::int64_t* from, std::size_t dims,
                        std::int64_t element_bytes) {
  CopyShape shape;
  shape.run = element_bytes;
  std::vector<CopyAxis> inner_first;
  for (std::size_t d = dims; d-- > 0;) {
    if (sizes[d] == 1) continue;
    const CopyAxis axis{sizes[d], to[d] * element_bytes, from[d] * element_bytes};
    if (inner_first.empty() && axis.to_stride == shape.run && axis.from_stride == shape.run) {
      shape.run *= axis.size;
      continue;
    }
    if (!inner_first.empty()) {
      CopyAxis& last = inner_first.back();
      if (axis.to_stride == last.size * last.to_stride && axis.from_stride == last.size * last.from_stride) {
        last.size *= axis.size;
        continue;
      }
    }
    inner_first.push_back(axis);
  }
  shape.axes.assign(inner_first.rbegin(), inner_first.rend());
  return shape;
}

void copy_strided(char* to, const char* from, const CopyShape& shape, cudaStream_t stream) {
  const auto& axes = shape.axes;
  const auto run = static_cast<std::size_t>(shape.run);
  const std::size_t inner = inner_axes(axes);
  if (axes.size() > inner) {  // the outermost axis by calls
    CopyShape rest{{axes.begin() + 1, axes.end()}, shape.run};
    for (std::int64_t i = 0; i < axes[0].size; ++i)
      copy_strided(to + i * axes[0].to_stride, from + i * axes[0].from_stride, rest, stream);
    return;
  }
  if (inner == 0) {
    C10_CUDA_CHECK(cudaMemcpyAsync(to, from, run, cudaMemcpyDefault, stream));
    return;
  }
  const CopyAxis& rows = axes.back();
  const auto pitch = [](std::int64_t stride) { return static_cast<std::size_t>(stride); };
  if (inner == 1) {
    C10_CUDA_CHECK(cudaMemcpy2DAsync(to, pitch(rows.to_stride), from, pitch(rows.from_stride), run,
                                     static_cast<std::size_t>(rows.size), cudaMemcpyDefault, stream));
    return;
  }
  const CopyAxis& planes = axes.front();
  cudaMemcpy3DParms p{};
  p.srcPtr = make_cudaPitchedPtr(const_cast<char*>(from), pitch(rows.from_stride), run,
                                 static_cast<std::size_t>(planes.from_stride / rows.from_stride));
  p.dstPtr =
      make_cudaPitchedPtr(to, pitch(rows.to_stride), run, static_cast<std::size_t>(planes.to_stride / rows.to_stride));
  p.extent = make_cudaExtent(run, static_cast<std::size_t>(rows.size), static_cast<std::size_t>(planes.size));
  p.kind = cudaMemcpyDefault;
  C10_CUDA_CHECK(cudaMemcpy3DAsync(&p, stream));
}

}  // namespace cpize::comm::peers
