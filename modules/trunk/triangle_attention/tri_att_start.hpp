// tri_att_start: triangle attention around the starting node on a mesh, along rows. triangle_attention.hpp has math,
// shapes, layout, bytes and memory.
#pragma once
#include "trunk/triangle_attention/triangle_attention.hpp"

namespace cpize::trunk {

class TriAttStartImpl : public TriangleAttentionImpl {
 public:
  TriAttStartImpl(std::int64_t dim, std::int64_t head_width, std::int64_t heads,
                  const TriangleAttentionOptions& options = {});
};
TORCH_MODULE(TriAttStart);

}  // namespace cpize::trunk
