// MemoryHistory: a GPU's allocations and releases in their order, and what follows from them: who held the peak.
#pragma once
#include <cstdint>
#include "profile/step_memory.hpp"

namespace cpize::profile {

struct MemoryEvent {
  enum class Kind : std::uint8_t { allocated, released };
  Kind kind = Kind::allocated;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;  // as asked for, before the allocator rounds
  Place place;             // of the allocation
};

/// Books a step's events; `forward_events` of them happened before backward began (StepMemory::saved). What was
/// allocated before the first event does not count, nor does its release. Widths and flops are not in a history.
StepMemory book_history(const std::vector<MemoryEvent>& events, std::size_t forward_events);

}  // namespace cpize::profile
