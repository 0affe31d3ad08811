#include "profile/memory_books.hpp"

#include <algorithm>
#include <utility>

namespace cpize::profile {
namespace {

BytesByPlace without_zeros(BytesByPlace bytes) {
  std::erase_if(bytes, [](const auto& entry) { return entry.second == 0; });
  return bytes;
}

}  // namespace

void MemoryBooks::allocate(std::uint64_t address, std::int64_t bytes, const Place& place) {
  allocations_[address] = {bytes, place};
  live_[place] += bytes;
  PlaceBytes& total = totals_[place];
  total.allocated += bytes;
  total.largest = std::max(total.largest, bytes);
  OwnPeak& own = own_peaks_[place.path];
  own.live += bytes;
  own.peak = std::max(own.peak, own.live);
  if (place.phase == Phase::forward) own.forward_peak = std::max(own.forward_peak, own.live);
  current_ += bytes;
  if (current_ > peak_) {
    peak_ = current_;
    peak_live_ = live_;
  }
}

void MemoryBooks::release(std::uint64_t address) {
  const auto at = allocations_.find(address);
  if (at == allocations_.end()) return;
  const auto& [bytes, place, wide] = at->second;
  live_[place] -= bytes;
  own_peaks_[place.path].live -= bytes;
  current_ -= bytes;
  allocations_.erase(at);
}

void MemoryBooks::mark_wide(std::uint64_t address) {
  const auto at = allocations_.find(address);
  if (at == allocations_.end() || std::exchange(at->second.wide, true)) return;
  PlaceBytes& total = totals_[at->second.place];
  total.wide += at->second.bytes;
  total.largest_wide = std::max(total.largest_wide, at->second.bytes);
}

BytesByPlace MemoryBooks::at_peak() const { return without_zeros(peak_live_); }
BytesByPlace MemoryBooks::now() const { return without_zeros(live_); }

std::map<std::string, std::int64_t> MemoryBooks::own_peak() const {
  std::map<std::string, std::int64_t> peaks;
  for (const auto& [path, own] : own_peaks_) peaks[path] = own.peak;
  return peaks;
}

std::map<std::string, std::int64_t> MemoryBooks::own_peak_in_forward() const {
  std::map<std::string, std::int64_t> peaks;
  for (const auto& [path, own] : own_peaks_) peaks[path] = own.forward_peak;
  return peaks;
}

}  // namespace cpize::profile
