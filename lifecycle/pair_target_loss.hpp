// The training loss of the pair slice: mean squared distance of z at valid pairs to a target that is drawn anew each
// step.
//
//   L = sum over b, i, j valid, c of (z[b,i,j,c] - t[b,i,j,c])^2 / (C * valid pairs)
//
// t is uniform in [-1, 1), a pure function of (seed, step, global element): any mesh, and a serial run, sees the same.
#pragma once
#include "layout/sharded.hpp"
#include "lifecycle/counter_random.hpp"

namespace cpize::lifecycle {

/// The stream of targets at a step.
CounterStream pair_target(std::uint64_t seed, std::int64_t step);

/// How many pairs are valid in the whole batch. A collective of control: every rank calls it.
std::int64_t valid_pairs(const Sharded<Pair>& pair_mask);

/// This rank's share of L, a scalar; the shares of all ranks sum to L. No communication: the denominator is the global
/// count that valid_pairs gave, once. z [B,N,N,C], pair_mask [B,N,N] (1 valid). A rank without valid pairs contributes
/// 0 with a graph, so that its backward takes part in every collective.
at::Tensor pair_target_loss_share(const Sharded<Pair>& z, const Sharded<Pair>& pair_mask, std::int64_t valid_pairs,
                                  const CounterStream& target);

}  // namespace cpize::lifecycle
