#include "trunk/triangle_attention/tri_att_start.hpp"

namespace cpize::trunk {

TriAttStartImpl::TriAttStartImpl(std::int64_t dim, std::int64_t head_width, std::int64_t heads,
                                 const TriangleAttentionOptions& options)
    : TriangleAttentionImpl(dim, head_width, heads, TriangleNode::starting, options) {}

}  // namespace cpize::trunk
