// Token bonds: which pairs of tokens are bonded, and by what kind of bond, as a pair embedding.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/pimpl.h>

#include "serial/initialisers.hpp"

namespace cpize::serial {

/// Rows of the table of bond types: none, then other, single, double, triple, aromatic, covalent.
inline constexpr int64_t kBondTypes = 7;

/// token_bonds(bond) + token_bonds_type[type]. Parameters, in order: token_bonds.weight [token_z, 1],
/// token_bonds_type.weight [7, token_z]. In a checkpoint both stand at the root.
class TokenBondsImpl : public torch::nn::Module {
 public:
  /// Without `bond_types` there is no table.
  explicit TokenBondsImpl(int64_t token_z, bool bond_types = true);

  /// bonds [B,N,N,1], types [B,N,N] integer (0 none, else 1 + id; undefined without bond types) -> [B,N,N,token_z].
  at::Tensor forward(const at::Tensor& bonds, const at::Tensor& types = {});

  torch::nn::Linear token_bonds;
  torch::nn::Embedding token_bonds_type{nullptr};
};
TORCH_MODULE(TokenBonds);

}  // namespace cpize::serial
