// tri_mul_in: the incoming triangle multiplication on a mesh, o[i,j] = sum_k a[k,i] b[k,j]. triangle_multiplication.hpp
// has shapes, layout, bytes and memory.
#pragma once
#include "trunk/triangle_multiplication.hpp"

namespace cpize::trunk {

class TriMulInImpl : public TriangleMultiplicationImpl {
 public:
  explicit TriMulInImpl(std::int64_t dim, const TriangleMultiplicationOptions& options = {});
};
TORCH_MODULE(TriMulIn);

}  // namespace cpize::trunk
