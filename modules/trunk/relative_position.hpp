// Relative position on a mesh: which chain, residue, token and symmetric copy two tokens are apart, as columns of one
// weight. No one-hot tensor of pairs: a pair's embedding is the sum of at most four columns, looked up.
//
//   R[i,j] = W [residue class, token class, same entity, copy class],  each one-hot, of i minus j
//
// Residue offsets of a cyclic chain are taken the short way round: d - p round(d / p), p the period of j.
// Source: Algorithm 3 of AlphaFold 3 with Boltz-2's cyclic offsets and symmetry check.
//
// Shapes: features Single [B,N], integer -> R Pair [B,N,N,token_z] in the dtype of the weight (under autocast: of
// autocast). Cost per rank, with b one shard of R:
//   forward sends    48 bytes a token to the other ranks of its row and to its column: two all-to-alls of ids
//   backward sends   nothing: ids have no gradient, and the weight's is this rank's share
//   saved            the ids of this rank's rows and columns, O(N)
//   peak             1 b and a panel of rows (pair_assembly.hpp)
#pragma once
#include <array>

#include "layout/sharded.hpp"
#include "trunk/pair_assembly.hpp"
#include "trunk/parameters.hpp"

namespace cpize::trunk {

struct RelativePositionOptions {
  std::int64_t token_z = 128;
  std::int64_t r_max = 32;     // residue and token offsets are clipped to [-r_max, r_max]
  std::int64_t s_max = 2;      // offsets between symmetric copies to [-s_max, s_max]
  bool fix_sym_check = true;   // the "no offset" class of copies: different entities (true) or the same chain (false)
  bool cyclic_pos_enc = true;  // residue offsets of cyclic chains are taken modulo the period

  /// Columns of the weight: residue and token offset classes, "same entity", copy offset classes.
  std::int64_t columns() const { return 2 * (2 * r_max + 2) + 1 + 2 * s_max + 2; }
};

/// All [B,N], integer; `cyclic_period` (integer or float) is 0 where a chain is not cyclic.
struct RelativePositionFeatures {
  Sharded<Single> asym_id, residue_index, entity_id, token_index, sym_id, cyclic_period;
};

/// The six features of the tokens of this rank's rows and columns, [B,n,6] int64 in the order of the struct; the period
/// travels as the bits of a double. Communication: two all-to-alls of 48 bytes a token and rank of a line.
struct RelativePositionIds {
  at::Tensor rows, columns;
  static RelativePositionIds gather(const RelativePositionFeatures& features);
};

/// Column indices of the weight for rows [r,6] against columns [n,6]: residue, token, entity and copy, each [r n]
/// int64. The entity index is columns() where the entities differ: a row of zeros behind the table.
using RelativePositionIndices = std::array<at::Tensor, 4>;
RelativePositionIndices relative_position_indices(const at::Tensor& rows, const at::Tensor& columns,
                                                  const RelativePositionOptions& options);

/// Parameter: linear_layer.weight [token_z, columns()]. Its gradient is this rank's share: reduce_gradients finishes
/// it.
class RelativePositionEncoderImpl : public torch::nn::Module {
 public:
  explicit RelativePositionEncoderImpl(const RelativePositionOptions& options);

  /// Every rank of the mesh calls it. ContractError where the features are not [B,N] of one B and N.
  Sharded<Pair> forward(const RelativePositionFeatures& features);

  /// The same as a term of a pair tensor that has others beside it.
  PairLookUp look_up(const RelativePositionIds& ids) const;

  const RelativePositionOptions options;
  Projection linear_layer;
};
TORCH_MODULE(RelativePositionEncoder);

}  // namespace cpize::trunk
