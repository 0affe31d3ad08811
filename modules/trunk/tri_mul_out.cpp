#include "trunk/tri_mul_out.hpp"

namespace cpize::trunk {

TriMulOutImpl::TriMulOutImpl(std::int64_t dim, const TriangleMultiplicationOptions& options)
    : TriangleMultiplicationImpl(dim, TriangleDirection::outgoing, options) {}

}  // namespace cpize::trunk
