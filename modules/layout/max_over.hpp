// max_over: the elementwise maximum over the ranks of one mesh axis, detached. For statistics that carry no gradient,
// such as the maximum of a softmax whose keys are spread over the axis.
#pragma once
#include "layout/sharded.hpp"

namespace cpize {

namespace detail {
at::Tensor max_over(const at::Tensor& local, Axis axis, const DeviceMesh& mesh);
}

/// Every rank of the axis gets the same result. The layout must not be cut by that axis: all its ranks hold the same
/// box. Communication: one alltoall_base in which each rank sends its shard to the others of its line.
template <Axis axis, class L>
Sharded<L> max_over(const Sharded<L>& x) {
  static_assert(!L::spec.sharded(axis),
                "max_over: the layout is cut by this axis, so its ranks hold different elements");
  return {detail::max_over(x.local(), axis, *x.mesh()), x.global(), x.mesh()};
}

}  // namespace cpize
