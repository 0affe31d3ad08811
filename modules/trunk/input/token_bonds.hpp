// Token bonds on a mesh: which pairs of tokens are bonded, and by what kind of bond, as a pair embedding.
//
//   y[i,j] = token_bonds(bond[i,j]) + token_bonds_type[type[i,j]]
//
// Source: Algorithm 1 of AlphaFold 3, line 5, with Boltz-2's table of bond types.
//
// Shapes: bonds Pair [B,N,N,1] (any dtype), types Pair [B,N,N] integer -> y Pair [B,N,N,token_z] in the dtype of the
// weights (under autocast: of autocast). Communication: none. Saved: the features. Peak: y and a panel of rows
// (pair_assembly.hpp). The features have no gradient. Type 0 (no bond) has a row of its own, as published.
#pragma once
#include <optional>

#include "layout/sharded.hpp"
#include "trunk/input/embedding_table.hpp"
#include "trunk/pair_assembly.hpp"
#include "trunk/parameters.hpp"

namespace cpize::trunk {

/// Rows of the table of bond types: none, then other, single, double, triple, aromatic, covalent.
inline constexpr std::int64_t kBondTypes = 7;

/// Parameters, in order: token_bonds.weight [token_z, 1], token_bonds_type.weight [7, token_z]. Gradients are this
/// rank's share. In a checkpoint both stand at the root.
class TokenBondsImpl : public torch::nn::Module {
 public:
  /// Without `bond_types` there is no table.
  explicit TokenBondsImpl(std::int64_t token_z, bool bond_types = true);

  /// ContractError where shapes do not fit, or types are given and there is no table, or the reverse. A type outside
  /// the table is an error of the look-up.
  Sharded<Pair> forward(const Sharded<Pair>& bonds, const std::optional<Sharded<Pair>>& types = std::nullopt);

  /// Adds both terms to those of a pair tensor.
  void add_terms(PairTerms& terms, const Sharded<Pair>& bonds, const std::optional<Sharded<Pair>>& types) const;

  Projection token_bonds;
  EmbeddingTable token_bonds_type{nullptr};
};
TORCH_MODULE(TokenBonds);

}  // namespace cpize::trunk
