#include "trunk/triangle_attention/triangle_attention.hpp"

#include "error/error.hpp"
#include "trunk/triangle_attention/attention_function.hpp"

namespace cpize::trunk {

AttentionProjectionsImpl::AttentionProjectionsImpl(std::int64_t dim, std::int64_t width)
    : linear_q(register_module("linear_q", Projection(dim, width))),
      linear_k(register_module("linear_k", Projection(dim, width))),
      linear_v(register_module("linear_v", Projection(dim, width))),
      linear_o(register_module("linear_o", Projection(width, dim))),
      linear_g(register_module("linear_g", Projection(dim, width))) {}

TriangleAttentionImpl::TriangleAttentionImpl(std::int64_t dim, std::int64_t head_width, std::int64_t heads,
                                             TriangleNode node, const TriangleAttentionOptions& options)
    : heads(heads),
      node(node),
      options(options),
      layer_norm(register_module("layer_norm", Norm(dim))),
      linear(register_module("linear", Projection(dim, heads))),
      mha(register_module("mha", AttentionProjections(dim, heads * head_width))) {
  if (heads < 1 || head_width < 1) throw ConfigError("triangle attention needs at least one head of width 1");
}

Sharded<Pair> TriangleAttentionImpl::forward(const Sharded<Pair>& z, const Sharded<Pair>& mask) {
  return apply(z, mask, false, false);
}

Sharded<Pair> TriangleAttentionImpl::residual(const Sharded<Pair>& z, const Sharded<Pair>& mask, bool overwrite) {
  return apply(z, mask, true, overwrite);
}

Sharded<Pair> TriangleAttentionImpl::apply(const Sharded<Pair>& z, const Sharded<Pair>& mask, bool residual,
                                           bool overwrite) {
  const Shape& shape = z.global();
  if (shape.size() != 4 || shape[1] != shape[2] || shape[3] != layer_norm->weight.size(0))
    throw ContractError("triangle attention takes z [B,N,N," + std::to_string(layer_norm->weight.size(0)) +
                        "], got a global shape of " + std::to_string(shape.size()) + " dimensions ending in " +
                        std::to_string(shape.back()));
  if (mask.global() != Shape(shape.begin(), shape.begin() + 3))
    throw ContractError("triangle attention: the mask must be [B,N,N] with B and N of z, without channels");
  return z.with(
      triangle_attention(z, mask.local(), node, heads, options,
                         {layer_norm->weight, layer_norm->bias, linear->weight, mha->linear_q->weight,
                          mha->linear_k->weight, mha->linear_v->weight, mha->linear_o->weight, mha->linear_g->weight},
                         residual, overwrite));
}

}  // namespace cpize::trunk
