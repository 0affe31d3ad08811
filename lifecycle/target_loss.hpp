// A training loss for proofs: mean squared distance of an output, at valid positions, to a target that is drawn anew
// each step.
//
//   L = sum over valid positions p and their n values of (x[p] - t[p])^2 / (n * valid positions)
//
// t is uniform in [-1, 1), a function of (stream, global element): any mesh, and a serial run, sees the same.
#pragma once
#include "layout/sharded.hpp"
#include "random/draw.hpp"

namespace cpize::lifecycle {

namespace detail {
std::int64_t valid_positions(const AnySharded& mask);
at::Tensor target_loss_share(const AnySharded& x, const AnySharded& mask, std::int64_t valid,
                             const random::Stream& target);
}  // namespace detail

/// The whole target.
inline at::Tensor target_values(const random::Stream& stream, at::IntArrayRef shape) {
  return random::uniform(stream, shape, at::kDouble) * 2 - 1;
}

/// How many positions of a mask are valid in the whole batch, for a layout that replicates nothing. A collective of
/// control: every rank calls it.
template <class L>
std::int64_t valid_positions(const Sharded<L>& mask) {
  static_assert(!L::spec.replicated(Axis::cp0) && !L::spec.replicated(Axis::cp1));
  return detail::valid_positions(mask);
}

/// This rank's share of L, a scalar; the shares of all ranks sum to L. No communication: the denominator is the global
/// count that valid_positions gave, once. x has the dimensions of `mask` and more. A rank without valid positions
/// contributes 0 with a graph, so that its backward takes part in every collective.
template <class L>
at::Tensor target_loss_share(const Sharded<L>& x, const Sharded<L>& mask, std::int64_t valid,
                             const random::Stream& target) {
  return detail::target_loss_share(x, mask, valid, target);
}

}  // namespace cpize::lifecycle
