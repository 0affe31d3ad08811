// ExchangePlan: which rectangles a rank sends and receives to change a tensor from one layout to another. A printable
// value.
//
// Source rank s sends to target rank d the intersection of what s has and what d wants, where on every mesh axis
//   source  target   rule
//   S or P  S or R   every s; a P source is added up
//   R       S or R   the replica on d's own line: s = d
//   S or P  P        s = d: d gets its own contribution, zero elsewhere
//   R       P        s = d = 0: the value goes to one rank only
// Transposing a plan gives the plan of dual(to) -> dual(from): that is why backward is the exact adjoint.
//
// Worked example: Pair -> PairByRow of [1,4,4] on 1x1x2, rank 0:
//   from [0:1, 0:4, 0:2]  to [0:1, 0:2, 0:4]
//   send to 0: [0:1, 0:2, 0:2]   send to 1: [0:1, 2:4, 0:2]
//   recv from 0: [0:1, 0:2, 0:2] recv from 1: [0:1, 0:2, 2:4]
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "layout/box.hpp"

namespace cpize {

struct Piece {
  int peer;
  Box at;  // in coordinates of the local shard
};

struct ExchangePlan {
  Box from, to;                      // this rank's shards, in global coordinates
  std::vector<Piece> send, receive;  // by ascending peer, without empty pieces; the own rank included
  bool adds = false;                 // a partial source: pieces are added up, in rank order
  bool needs_zero = false;           // some of the target may receive nothing

  /// Elements sent to others.
  std::int64_t sent_elements(int rank) const;
  std::string str() const;
};

/// A part of an exchange: of every rank's shard on one side, only the elements [begin, begin + count) along one
/// dimension, fewer where the shard ends before. Consecutive windows of either side make the whole exchange.
struct ExchangeWindow {
  enum class Side { source, target } side;
  int dimension;
  std::int64_t begin, count;
};

/// With a window, the shard of that side is the windowed part of it, and counts from there. ContractError for a window
/// where a side is partial.
ExchangePlan plan_exchange(const Spec& from, const Spec& to, const Shape& global, const MeshShape& mesh, int rank,
                           const std::optional<ExchangeWindow>& window = {});

}  // namespace cpize
