#include "ports/column_attention.hpp"

#include "layout/redistribute.hpp"
#include "ports/layouts.hpp"

namespace contactnet {

using namespace cpize;

Sharded<Pair> ColumnAttentionImpl::forward(const Sharded<Pair>& x, const Sharded<Single>& present) {
  const auto columns = redistribute<PairByCol>(x);
  const at::Tensor rows = redistribute<Columns>(present).local();
  const at::Tensor y = AxialAttentionImpl::forward(columns.local().transpose(1, 2), rows);
  return redistribute<Pair>(columns.with(y.transpose(1, 2)));
}

}  // namespace contactnet
