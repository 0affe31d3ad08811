#include "ports/pooled_head.hpp"

#include "layout/redistribute.hpp"

namespace contactnet {

using namespace cpize;

Sharded<Pair> cells_of(const Sharded<Single>& present) {
  const at::Tensor rows = redistribute<SingleRow>(present).local(), columns = redistribute<SingleCol>(present).local();
  const auto b = present.global()[0], n = present.global()[1];
  return wrap<Pair>(rows.unsqueeze(2) * columns.unsqueeze(1), {b, n, n}, present.mesh());
}

Sharded<PerMap> PooledHeadImpl::forward(const Sharded<Pair>& x, const Sharded<Single>& present) {
  // This rank's part of a sum over both mesh axes; redistribute adds the parts up.
  const at::Tensor mine = sum(x.local(), cells_of(present).local());
  const auto parts = wrap<Partial<PerMap, cp0, cp1>>(mine, {x.global()[0], mine.size(1)}, x.mesh());
  const auto total = redistribute<PerMap>(parts);
  const at::Tensor side = redistribute<Columns>(present).local().sum(1);
  return total.with(score(total.local(), side * side));
}

}  // namespace contactnet
