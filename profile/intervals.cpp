#include "profile/intervals.hpp"

#include <algorithm>

namespace cpize::profile {

IntervalSet::IntervalSet(std::vector<Interval> pieces) {
  std::erase_if(pieces, [](const Interval& i) { return i.end <= i.begin; });
  std::sort(pieces.begin(), pieces.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  for (const Interval& piece : pieces) {
    if (!pieces_.empty() && piece.begin <= pieces_.back().end)
      pieces_.back().end = std::max(pieces_.back().end, piece.end);
    else
      pieces_.push_back(piece);
  }
}

std::int64_t IntervalSet::length() const {
  std::int64_t sum = 0;
  for (const Interval& piece : pieces_) sum += piece.end - piece.begin;
  return sum;
}

IntervalSet IntervalSet::both(const IntervalSet& other) const {
  IntervalSet result;
  auto b = other.pieces_.begin();
  for (const Interval& a : pieces_) {
    while (b != other.pieces_.end() && b->end <= a.begin) ++b;
    for (auto at = b; at != other.pieces_.end() && at->begin < a.end; ++at)
      result.pieces_.push_back({std::max(a.begin, at->begin), std::min(a.end, at->end)});
  }
  return result;
}

IntervalSet IntervalSet::without(const IntervalSet& other) const {
  IntervalSet result;
  auto b = other.pieces_.begin();
  for (const Interval& a : pieces_) {
    while (b != other.pieces_.end() && b->end <= a.begin) ++b;
    std::int64_t begin = a.begin;
    for (auto at = b; at != other.pieces_.end() && at->begin < a.end; ++at) {
      if (at->begin > begin) result.pieces_.push_back({begin, at->begin});
      begin = std::max(begin, at->end);
    }
    if (begin < a.end) result.pieces_.push_back({begin, a.end});
  }
  return result;
}

}  // namespace cpize::profile
