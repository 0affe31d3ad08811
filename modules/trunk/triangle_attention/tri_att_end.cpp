#include "trunk/triangle_attention/tri_att_end.hpp"

namespace cpize::trunk {

TriAttEndImpl::TriAttEndImpl(std::int64_t dim, std::int64_t head_width, std::int64_t heads,
                             const TriangleAttentionOptions& options)
    : TriangleAttentionImpl(dim, head_width, heads, TriangleNode::ending, options) {}

}  // namespace cpize::trunk
