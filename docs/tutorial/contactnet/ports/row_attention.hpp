// row_attention on a mesh: every rank takes some whole rows and attends within them.
//
// Shapes: x [B,N,N,C] Pair, present [B,N] Single (1: the map has this row and column) -> y [B,N,N,C] Pair. dtype: that
// of x. Communication: Pair -> PairByRow and back, so 2 b (P-1)/P elements a rank, b a shard of x, P the ranks of a
// column. Saved for backward: what the serial block saves for its rows.
#pragma once
#include "layout/sharded.hpp"
#include "model/axial_attention.hpp"

namespace contactnet {

/// Parameters are the serial block's. Their gradients are this rank's share: reduce_gradients finishes them.
class RowAttentionImpl : public model::AxialAttentionImpl {
 public:
  using model::AxialAttentionImpl::AxialAttentionImpl;
  cpize::Sharded<cpize::Pair> forward(const cpize::Sharded<cpize::Pair>& x,
                                      const cpize::Sharded<cpize::Single>& present);
};
TORCH_MODULE(RowAttention);

}  // namespace contactnet
