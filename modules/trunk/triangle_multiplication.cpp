#include "trunk/triangle_multiplication.hpp"

#include "error/error.hpp"
#include "trunk/triangle_function.hpp"

namespace cpize::trunk {

TriangleMultiplicationImpl::TriangleMultiplicationImpl(std::int64_t dim, TriangleDirection direction,
                                                       const TriangleMultiplicationOptions& options)
    : direction(direction),
      options(options),
      norm_in(register_module("norm_in", Norm(dim))),
      p_in(register_module("p_in", Projection(dim, 2 * dim))),
      g_in(register_module("g_in", Projection(dim, 2 * dim))),
      norm_out(register_module("norm_out", Norm(dim))),
      p_out(register_module("p_out", Projection(dim, dim))),
      g_out(register_module("g_out", Projection(dim, dim))) {}

Sharded<Pair> TriangleMultiplicationImpl::forward(const Sharded<Pair>& z, const Sharded<Pair>& mask) {
  return apply(z, mask, false, false);
}

Sharded<Pair> TriangleMultiplicationImpl::residual(const Sharded<Pair>& z, const Sharded<Pair>& mask, bool overwrite) {
  return apply(z, mask, true, overwrite);
}

Sharded<Pair> TriangleMultiplicationImpl::apply(const Sharded<Pair>& z, const Sharded<Pair>& mask, bool residual,
                                                bool overwrite) {
  const Shape& shape = z.global();
  if (shape.size() != 4 || shape[1] != shape[2] || shape[3] != norm_in->weight.size(0))
    throw ContractError("triangle multiplication takes z [B,N,N," + std::to_string(norm_in->weight.size(0)) +
                        "], got a global shape of " + std::to_string(shape.size()) + " dimensions ending in " +
                        std::to_string(shape.back()));
  if (mask.global() != Shape(shape.begin(), shape.begin() + 3))
    throw ContractError("triangle multiplication: the mask must be [B,N,N] with B and N of z, without channels");
  return z.with(triangle_multiplication(z, mask.local(), direction, options,
                                        {norm_in->weight, norm_in->bias, p_in->weight, g_in->weight, norm_out->weight,
                                         norm_out->bias, p_out->weight, g_out->weight},
                                        residual, overwrite));
}

}  // namespace cpize::trunk
