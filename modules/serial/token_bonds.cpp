#include "serial/token_bonds.hpp"

#include <ATen/Functions.h>

namespace cpize::serial {

TokenBondsImpl::TokenBondsImpl(int64_t token_z, bool bond_types)
    : token_bonds(register_module("token_bonds", plain_linear(1, token_z))) {
  if (bond_types) token_bonds_type = register_module("token_bonds_type", torch::nn::Embedding(kBondTypes, token_z));
}

at::Tensor TokenBondsImpl::forward(const at::Tensor& bonds, const at::Tensor& types) {
  const at::Tensor embedded = token_bonds(bonds.to(token_bonds->weight.scalar_type()));
  return token_bonds_type.is_empty() ? embedded : embedded + token_bonds_type(types.to(at::kLong));
}

}  // namespace cpize::serial
