// Intervals: sets of time as sorted, disjoint pieces [begin, end).
#pragma once
#include <cstdint>
#include <vector>

namespace cpize::profile {

struct Interval {
  std::int64_t begin = 0, end = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

class IntervalSet {
 public:
  IntervalSet() = default;
  /// The union of `pieces`, which may overlap, touch or be empty, in any order.
  explicit IntervalSet(std::vector<Interval> pieces);

  const std::vector<Interval>& pieces() const { return pieces_; }
  std::int64_t length() const;
  /// What is in this set and in the other.
  IntervalSet both(const IntervalSet& other) const;
  /// What is in this set and not in the other.
  IntervalSet without(const IntervalSet& other) const;

 private:
  std::vector<Interval> pieces_;
};

}  // namespace cpize::profile
