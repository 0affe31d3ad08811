#include "trunk/input/token_bonds.hpp"

#include <ATen/ATen.h>

#include "error/error.hpp"
#include "trunk/precision.hpp"

namespace cpize::trunk {

TokenBondsImpl::TokenBondsImpl(std::int64_t token_z, bool bond_types)
    : token_bonds(register_module("token_bonds", Projection(1, token_z))) {
  if (bond_types) token_bonds_type = register_module("token_bonds_type", EmbeddingTable(kBondTypes, token_z));
}

void TokenBondsImpl::add_terms(PairTerms& terms, const Sharded<Pair>& bonds,
                               const std::optional<Sharded<Pair>>& types) const {
  const Shape& pairs = bonds.global();
  if (pairs.size() != 4 || pairs[1] != pairs[2] || pairs[3] != 1)
    throw ContractError("token bonds: bonds must be [B,N,N,1]");
  if (types.has_value() == token_bonds_type.is_empty())
    throw ContractError(types ? "token bonds: bond types are given and the block has no table of them"
                              : "token bonds: the block has a table of bond types and none are given");
  terms.maps.push_back(
      {token_bonds->weight.t(), [bonds = bonds.local().detach()](const PairRows& rows) { return rows.of(bonds); }});
  if (!types) return;
  if (types->global() != Shape{pairs[0], pairs[1], pairs[2]})
    throw ContractError("token bonds: types must be [B,N,N] with B and N of the bonds");
  terms.look_ups.push_back({token_bonds_type->weight, [types = types->local()](const PairRows& rows) {
                              return std::vector<at::Tensor>{rows.of(types).to(at::kLong)};
                            }});
}

Sharded<Pair> TokenBondsImpl::forward(const Sharded<Pair>& bonds, const std::optional<Sharded<Pair>>& types) {
  PairTerms terms;
  add_terms(terms, bonds, types);
  const at::Tensor &weight = token_bonds->weight, &local = bonds.local();
  return bonds.with(assemble_pairs(terms, local.size(0), local.size(1), local.size(2),
                                   weight.options().dtype(Precision::of(weight).operand)));
}

}  // namespace cpize::trunk
