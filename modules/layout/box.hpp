// Box: the rectangle of the global tensor that one rank holds.
#pragma once
#include <string>

#include "layout/spec.hpp"

namespace cpize {

struct Box {
  Shape low, size;  // one entry a dimension

  std::int64_t numel() const;
  /// "[0:3, 4:6]"
  std::string str() const;
  friend bool operator==(const Box&, const Box&) = default;
};

/// What `spec` gives the rank at `at`. Balanced: part p of P of n elements is [n p / P, n (p + 1) / P), so that sizes
/// differ by at most one and any n works, n < P included (empty parts). ContractError if `global` has fewer dimensions
/// than spec mentions, or more than Spec::max_dims.
Box box_of(const Spec& spec, const Shape& global, const MeshShape& mesh, const Coordinates& at);

/// The rectangle that both hold; size 0 in some dimension if there is none.
Box intersect(const Box& a, const Box& b);

}  // namespace cpize
