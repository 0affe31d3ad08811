// tri_att_end: triangle attention around the ending node on a mesh, along columns. triangle_attention.hpp has math,
// shapes, layout, bytes and memory.
#pragma once
#include "trunk/triangle_attention/triangle_attention.hpp"

namespace cpize::trunk {

class TriAttEndImpl : public TriangleAttentionImpl {
 public:
  TriAttEndImpl(std::int64_t dim, std::int64_t head_width, std::int64_t heads,
                const TriangleAttentionOptions& options = {});
};
TORCH_MODULE(TriAttEnd);

}  // namespace cpize::trunk
