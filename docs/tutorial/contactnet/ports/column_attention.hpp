// column_attention on a mesh: row_attention with rows and columns exchanged; every rank takes some whole columns.
#pragma once
#include "layout/sharded.hpp"
#include "model/axial_attention.hpp"

namespace contactnet {

/// As RowAttention (row_attention.hpp), along columns: Pair -> PairByCol and back.
class ColumnAttentionImpl : public model::AxialAttentionImpl {
 public:
  using model::AxialAttentionImpl::AxialAttentionImpl;
  cpize::Sharded<cpize::Pair> forward(const cpize::Sharded<cpize::Pair>& x,
                                      const cpize::Sharded<cpize::Single>& present);
};
TORCH_MODULE(ColumnAttention);

}  // namespace contactnet
