// Relative position on a mesh: which chain, residue, token and symmetric copy two tokens are apart, as columns of one
// weight. No one-hot tensor of pairs: a pair's embedding is the sum of at most four columns, looked up.
//
// Source: Algorithm 3 of AlphaFold 3 with Boltz-2's cyclic offsets and symmetry check.
#pragma once
#include <array>

#include "layout/sharded.hpp"
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

/// Parameter: linear_layer.weight [token_z, columns()]. Its look-ups run in PairInitialisation, which adds them to z.
class RelativePositionEncoderImpl : public torch::nn::Module {
 public:
  explicit RelativePositionEncoderImpl(const RelativePositionOptions& options);

  const RelativePositionOptions options;
  Projection linear_layer;
};
TORCH_MODULE(RelativePositionEncoder);

}  // namespace cpize::trunk
