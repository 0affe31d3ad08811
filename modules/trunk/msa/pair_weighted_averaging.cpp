#include "trunk/msa/pair_weighted_averaging.hpp"

#include "error/error.hpp"
#include "trunk/msa/averaging_function.hpp"

namespace cpize::trunk {

PairWeightedAveragingImpl::PairWeightedAveragingImpl(std::int64_t msa_s, std::int64_t token_z, std::int64_t head_width,
                                                     std::int64_t heads, const PairWeightedAveragingOptions& options)
    : head_width(head_width),
      heads(heads),
      options(options),
      norm_m(register_module("norm_m", Norm(msa_s))),
      norm_z(register_module("norm_z", Norm(token_z))),
      proj_m(register_module("proj_m", Projection(msa_s, heads * head_width))),
      proj_g(register_module("proj_g", Projection(msa_s, heads * head_width))),
      proj_z(register_module("proj_z", Projection(token_z, heads))),
      proj_o(register_module("proj_o", Projection(heads * head_width, msa_s))) {}

Sharded<Msa> PairWeightedAveragingImpl::forward(const Sharded<Msa>& m, const Sharded<Pair>& z,
                                                const Sharded<Pair>& mask) {
  const Shape &rows = m.global(), &pairs = z.global();
  const std::int64_t msa_s = norm_m->weight.size(0), token_z = norm_z->weight.size(0);
  if (rows.size() != 4 || rows[3] != msa_s)
    throw ContractError("pair-weighted averaging takes m [B,S,N," + std::to_string(msa_s) + "]");
  if (pairs != Shape{rows[0], rows[2], rows[2], token_z})
    throw ContractError("pair-weighted averaging takes z [B,N,N," + std::to_string(token_z) + "] with B and N of m");
  if (mask.global() != Shape{rows[0], rows[2], rows[2]})
    throw ContractError("pair-weighted averaging: the mask must be [B,N,N] with B and N of m, without channels");
  return m.with(pair_weighted_averaging(m, z, mask, heads, options,
                                        {norm_m->weight, norm_m->bias, norm_z->weight, norm_z->bias, proj_m->weight,
                                         proj_g->weight, proj_z->weight, proj_o->weight}));
}

}  // namespace cpize::trunk
