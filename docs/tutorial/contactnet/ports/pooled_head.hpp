// pooled_head on a mesh: every rank sums its own cells, the sums are added up, and every rank computes the score.
//
// Shapes: x [B,N,N,C] Pair, present [B,N] Single -> [B,1] PerMap. dtype: that of x.
// Communication: one sum of B C elements. Saved for backward: what the serial block saves for this rank's cells.
#pragma once
#include "layout/sharded.hpp"
#include "model/pooled_head.hpp"
#include "ports/layouts.hpp"

namespace contactnet {

/// Parameters are the serial block's. Their gradients are this rank's share: reduce_gradients finishes them.
class PooledHeadImpl : public model::PooledHeadImpl {
 public:
  using model::PooledHeadImpl::PooledHeadImpl;
  cpize::Sharded<PerMap> forward(const cpize::Sharded<cpize::Pair>& x, const cpize::Sharded<cpize::Single>& present);
};
TORCH_MODULE(PooledHead);

/// [B,N,N], 1 where a map has a cell; from [B,N].
cpize::Sharded<cpize::Pair> cells_of(const cpize::Sharded<cpize::Single>& present);

}  // namespace contactnet
