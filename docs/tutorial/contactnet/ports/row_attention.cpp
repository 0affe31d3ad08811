#include "ports/row_attention.hpp"

#include "layout/redistribute.hpp"
#include "ports/layouts.hpp"

namespace contactnet {

using namespace cpize;

Sharded<Pair> RowAttentionImpl::forward(const Sharded<Pair>& x, const Sharded<Single>& present) {
  const auto rows = redistribute<PairByRow>(x);
  const at::Tensor columns = redistribute<Columns>(present).local();
  return redistribute<Pair>(rows.with(AxialAttentionImpl::forward(rows.local(), columns)));
}

}  // namespace contactnet
