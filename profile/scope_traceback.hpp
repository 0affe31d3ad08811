// ScopeTraceback: where an allocation was made, as the allocator's history keeps it: the named scope in place of a
// stack. memory_viz shows its frames (innermost scope first; in the place of a file: forward, backward or recompute),
// and the attribution reads its place.
#pragma once
#include <torch/csrc/profiler/combined_traceback.h>

#include "profile/scope_tracker.hpp"

namespace cpize::profile {

class ScopeTraceback : public torch::CapturedTraceback {
 public:
  /// Of the calling thread, by the ScopeTracker that reaches it. For CUDACachingAllocator::recordHistory.
  static std::shared_ptr<c10::GatheredContext> gather();

  ScopeTraceback(torch::CapturedTraceback&& frames, Place place)
      : CapturedTraceback(std::move(frames)), place_(std::move(place)) {}
  const Place& place() const { return place_; }

 private:
  Place place_;
};

/// The place of a context from a history; no scope where it is none of ours.
Place place_of(const c10::GatheredContext* context);

}  // namespace cpize::profile
