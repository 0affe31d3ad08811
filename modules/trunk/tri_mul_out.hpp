// tri_mul_out: the outgoing triangle multiplication on a mesh, o[i,j] = sum_k a[i,k] b[j,k].
// triangle_multiplication.hpp has shapes, layout, bytes and memory.
#pragma once
#include "trunk/triangle_multiplication.hpp"

namespace cpize::trunk {

class TriMulOutImpl : public TriangleMultiplicationImpl {
 public:
  explicit TriMulOutImpl(std::int64_t dim, const TriangleMultiplicationOptions& options = {});
};
TORCH_MODULE(TriMulOut);

}  // namespace cpize::trunk
