#include "profile/memory_attribution.hpp"

#include <c10/core/Allocator.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace cpize::profile {

struct MemoryAttribution::Books : c10::MemoryReportingInfoBase {
  struct Allocation {
    std::int64_t bytes;
    Place place;
    bool wide = false;
  };
  struct OwnPeak {
    std::int64_t live = 0, peak = 0, forward_peak = 0;
  };

  explicit Books(const ScopeTracker& tracker) : tracker(tracker) {}

  void reportMemoryUsage(void* address, std::int64_t bytes, std::size_t, std::size_t, c10::Device) override {
    if (bytes >= 0)
      allocate(address, bytes, tracker.here());
    else
      release(address);
  }
  bool memoryProfilingEnabled() const override { return true; }

  void allocate(void* address, std::int64_t bytes, const Place& place) {
    const std::lock_guard lock(mutex);
    allocations[address] = {bytes, place};
    live[place] += bytes;
    PlaceBytes& total = totals[place];
    total.allocated += bytes;
    total.largest = std::max(total.largest, bytes);
    OwnPeak& own = own_peaks[place.path];
    own.live += bytes;
    own.peak = std::max(own.peak, own.live);
    if (place.phase == Phase::forward) own.forward_peak = std::max(own.forward_peak, own.live);
    current += bytes;
    if (current > peak) {
      peak = current;
      peak_live = live;
    }
  }

  void release(void* address) {
    const std::lock_guard lock(mutex);
    const auto at = allocations.find(address);
    if (at == allocations.end()) return;  // older than the attribution
    const auto& [bytes, place, wide] = at->second;
    live[place] -= bytes;
    own_peaks[place.path].live -= bytes;
    current -= bytes;
    allocations.erase(at);
  }

  const ScopeTracker& tracker;
  mutable std::mutex mutex;
  std::unordered_map<const void*, Allocation> allocations;
  BytesByPlace live, peak_live;
  std::map<Place, PlaceBytes> totals;
  std::map<std::string, OwnPeak> own_peaks;
  std::int64_t current = 0, peak = 0;
};

namespace {

BytesByPlace without_zeros(BytesByPlace bytes) {
  std::erase_if(bytes, [](const auto& entry) { return entry.second == 0; });
  return bytes;
}

}  // namespace

MemoryAttribution::MemoryAttribution(const ScopeTracker& tracker) : books_(std::make_shared<Books>(tracker)) {}
MemoryAttribution::~MemoryAttribution() = default;

MemoryAttribution::Scope::Scope(const MemoryAttribution& memory)
    : guard_(c10::DebugInfoKind::PROFILER_STATE, memory.books_) {}

std::int64_t MemoryAttribution::peak_bytes() const {
  const std::lock_guard lock(books_->mutex);
  return books_->peak;
}

BytesByPlace MemoryAttribution::at_peak() const {
  const std::lock_guard lock(books_->mutex);
  return without_zeros(books_->peak_live);
}

BytesByPlace MemoryAttribution::now() const {
  const std::lock_guard lock(books_->mutex);
  return without_zeros(books_->live);
}

std::map<Place, PlaceBytes> MemoryAttribution::totals() const {
  const std::lock_guard lock(books_->mutex);
  return books_->totals;
}

std::map<std::string, std::int64_t> MemoryAttribution::own_peak() const {
  const std::lock_guard lock(books_->mutex);
  std::map<std::string, std::int64_t> peaks;
  for (const auto& [path, own] : books_->own_peaks) peaks[path] = own.peak;
  return peaks;
}

std::map<std::string, std::int64_t> MemoryAttribution::own_peak_in_forward() const {
  const std::lock_guard lock(books_->mutex);
  std::map<std::string, std::int64_t> peaks;
  for (const auto& [path, own] : books_->own_peaks) peaks[path] = own.forward_peak;
  return peaks;
}

void MemoryAttribution::mark_wide(const void* address) {
  const std::lock_guard lock(books_->mutex);
  const auto at = books_->allocations.find(address);
  if (at == books_->allocations.end() || std::exchange(at->second.wide, true)) return;
  PlaceBytes& total = books_->totals[at->second.place];
  total.wide += at->second.bytes;
  total.largest_wide = std::max(total.largest_wide, at->second.bytes);
}

}  // namespace cpize::profile
