// Spec: the run-time value of a layout. For each tensor dimension the mesh axes that cut it, outermost first; the axes
// on which the tensor holds partial sums; and the order in which a shard's dimensions lie in memory.
//
// On every mesh axis a tensor is sharded (S), replicated (R) or partial (P): its true value is the sum over the axis.
// Trailing dimensions that a Spec does not mention are whole, so that heads, channels and channel-less masks share one.
//
//   Pair            [dp, cp0, cp1]            dimension 0 is cut by dp, 1 by cp0, 2 by cp1, the rest is whole
//   PairByCol       [dp, -, cp1 cp0]          dimension 2 is cut by cp1 first, each part again by cp0
//   PairByChannel   [dp, -, -, cp0 cp1] stored (0 3 1 2 ...)
//   Partial<..>     [dp, cp0] partial (cp1)
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "mesh/mesh_shape.hpp"

namespace cpize {

using Shape = std::vector<std::int64_t>;

struct Spec {
  static constexpr int max_dims = 6;

  struct Cut {
    int axes = 0;
    std::array<Axis, 3> axis{};
    friend constexpr bool operator==(const Cut& a, const Cut& b) {
      if (a.axes != b.axes) return false;
      for (int i = 0; i < a.axes; ++i)
        if (a.axis[i] != b.axis[i]) return false;
      return true;
    }
  };

  int rank = 0;                     // dimensions that the layout mentions
  std::array<Cut, max_dims> cut{};  // cut[d]: the axes that cut dimension d, outermost first
  std::array<bool, 3> partial{};    // by Axis
  std::array<std::int8_t, max_dims> memory_order{0, 1, 2, 3, 4, 5};  // outermost dimension of a stored shard first

  constexpr bool sharded(Axis a) const {
    for (int d = 0; d < rank; ++d)
      for (int i = 0; i < cut[d].axes; ++i)
        if (cut[d].axis[i] == a) return true;
    return false;
  }
  constexpr bool is_partial(Axis a) const { return partial[index_of(a)]; }
  constexpr bool replicated(Axis a) const { return !sharded(a) && !is_partial(a); }

  friend constexpr bool operator==(const Spec&, const Spec&) = default;

  /// "[dp, cp0, cp1]"
  std::string str() const;
};

/// The layout of the gradient: replicated and partial axes change places, sharded ones stay. A replicated activation
/// may be used differently on each rank, so its gradient is a partial sum; a partial sum's gradient is replicated.
constexpr Spec dual(Spec s) {
  for (Axis a : all_axes)
    if (!s.sharded(a)) s.partial[index_of(a)] = !s.partial[index_of(a)];
  return s;
}

/// Same cuts and partial axes: moving between such specs needs no communication, at most another memory order.
constexpr bool same_distribution(const Spec& a, const Spec& b) {
  if (a.partial != b.partial) return false;
  const int rank = a.rank > b.rank ? a.rank : b.rank;
  for (int d = 0; d < rank; ++d)
    if (!(a.cut[d] == b.cut[d])) return false;
  return true;
}

/// Is rank coordinate `c` the one rank of its replica set on which an output gradient is seeded?
constexpr bool is_owner(const Spec& s, const Coordinates& c) {
  for (Axis a : all_axes)
    if (s.replicated(a) && c[a] != 0) return false;
  return true;
}

}  // namespace cpize
