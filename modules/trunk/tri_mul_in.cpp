#include "trunk/tri_mul_in.hpp"

namespace cpize::trunk {

TriMulInImpl::TriMulInImpl(std::int64_t dim, const TriangleMultiplicationOptions& options)
    : TriangleMultiplicationImpl(dim, TriangleDirection::incoming, options) {}

}  // namespace cpize::trunk
