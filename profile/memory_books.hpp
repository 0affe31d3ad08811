// MemoryBooks: the accounting of one rank's allocations, by the place that made them. Plain values, no allocator: the
// CPU's reports (memory_attribution.cpp) and a GPU's history (memory_history.cpp) are booked alike.
#pragma once
#include <cstdint>
#include <unordered_map>

#include "profile/memory_attribution.hpp"

namespace cpize::profile {

class MemoryBooks {
 public:
  void allocate(std::uint64_t address, std::int64_t bytes, const Place& place);
  /// Of an address that is not booked (older than the books): nothing happens.
  void release(std::uint64_t address);
  void mark_wide(std::uint64_t address);

  std::int64_t peak_bytes() const { return peak_; }
  BytesByPlace at_peak() const;
  BytesByPlace now() const;
  const std::map<Place, PlaceBytes>& totals() const { return totals_; }
  std::map<std::string, std::int64_t> own_peak() const;
  std::map<std::string, std::int64_t> own_peak_in_forward() const;

 private:
  struct Allocation {
    std::int64_t bytes;
    Place place;
    bool wide = false;
  };
  struct OwnPeak {
    std::int64_t live = 0, peak = 0, forward_peak = 0;
  };
  std::unordered_map<std::uint64_t, Allocation> allocations_;
  BytesByPlace live_, peak_live_;
  std::map<Place, PlaceBytes> totals_;
  std::map<std::string, OwnPeak> own_peaks_;
  std::int64_t current_ = 0, peak_ = 0;
};

}  // namespace cpize::profile
