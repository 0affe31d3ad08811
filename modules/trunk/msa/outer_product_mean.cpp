#include "trunk/msa/outer_product_mean.hpp"

#include "error/error.hpp"
#include "trunk/msa/outer_product_function.hpp"

namespace cpize::trunk {

OuterProductMeanImpl::OuterProductMeanImpl(std::int64_t msa_s, std::int64_t hidden, std::int64_t token_z,
                                           const OuterProductMeanOptions& options)
    : options(options),
      norm(register_module("norm", Norm(msa_s))),
      proj_a(register_module("proj_a", Projection(msa_s, hidden))),
      proj_b(register_module("proj_b", Projection(msa_s, hidden))),
      proj_o(register_module("proj_o", BiasedProjection(hidden * hidden, token_z))) {}

Sharded<Pair> OuterProductMeanImpl::forward(const Sharded<Msa>& m, const Sharded<Msa>& mask) {
  const Shape& shape = m.global();
  const std::int64_t msa_s = norm->weight.size(0);
  if (shape.size() != 4 || shape[3] != msa_s)
    throw ContractError("outer product mean takes m [B,S,N," + std::to_string(msa_s) + "], got a global shape of " +
                        std::to_string(shape.size()) + " dimensions ending in " + std::to_string(shape.back()));
  if (mask.global() != Shape(shape.begin(), shape.begin() + 3))
    throw ContractError("outer product mean: the mask must be [B,S,N] with B, S and N of m, without channels");
  const at::Tensor z =
      outer_product_mean(m, mask.local(), options,
                         {norm->weight, norm->bias, proj_a->weight, proj_b->weight, proj_o->weight, proj_o->bias});
  return wrap<Pair>(z, {shape[0], shape[2], shape[2], proj_o->weight.size(0)}, m.mesh());
}

}  // namespace cpize::trunk
