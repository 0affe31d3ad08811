#include "profile/memory_attribution.hpp"

#include <c10/core/Allocator.h>

#include <mutex>

#include "profile/memory_books.hpp"

namespace cpize::profile {

struct MemoryAttribution::Books : c10::MemoryReportingInfoBase {
  explicit Books(const ScopeTracker& tracker) : tracker(tracker) {}

  void reportMemoryUsage(void* address, std::int64_t bytes, std::size_t, std::size_t, c10::Device) override {
    const std::lock_guard lock(mutex);
    if (bytes >= 0)
      books.allocate(reinterpret_cast<std::uint64_t>(address), bytes, tracker.here());
    else
      books.release(reinterpret_cast<std::uint64_t>(address));
  }
  bool memoryProfilingEnabled() const override { return true; }

  /// A copy of what `read` says of the books.
  template <class Read>
  auto locked(const Read& read) const {
    const std::lock_guard lock(mutex);
    return read(books);
  }

  const ScopeTracker& tracker;
  mutable std::mutex mutex;
  MemoryBooks books;
};

MemoryAttribution::MemoryAttribution(const ScopeTracker& tracker) : books_(std::make_shared<Books>(tracker)) {}
MemoryAttribution::~MemoryAttribution() = default;

MemoryAttribution::Scope::Scope(const MemoryAttribution& memory)
    : guard_(c10::DebugInfoKind::PROFILER_STATE, memory.books_) {}

std::int64_t MemoryAttribution::peak_bytes() const {
  return books_->locked([](const auto& books) { return books.peak_bytes(); });
}

BytesByPlace MemoryAttribution::at_peak() const {
  return books_->locked([](const auto& books) { return books.at_peak(); });
}

BytesByPlace MemoryAttribution::now() const {
  return books_->locked([](const auto& books) { return books.now(); });
}

std::map<Place, PlaceBytes> MemoryAttribution::totals() const {
  return books_->locked([](const auto& books) { return books.totals(); });
}

std::map<std::string, std::int64_t> MemoryAttribution::own_peak() const {
  return books_->locked([](const auto& books) { return books.own_peak(); });
}

std::map<std::string, std::int64_t> MemoryAttribution::own_peak_in_forward() const {
  return books_->locked([](const auto& books) { return books.own_peak_in_forward(); });
}

void MemoryAttribution::mark_wide(const void* address) {
  const std::lock_guard lock(books_->mutex);
  books_->books.mark_wide(reinterpret_cast<std::uint64_t>(address));
}

}  // namespace cpize::profile
