#include "profile/memory_history.hpp"

#include "profile/memory_books.hpp"

namespace cpize::profile {

StepMemory book_history(const std::vector<MemoryEvent>& events, std::size_t forward_events) {
  MemoryBooks books;
  StepMemory memory;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (i == forward_events) memory.saved = books.now();
    const MemoryEvent& event = events[i];
    if (event.kind == MemoryEvent::Kind::allocated)
      books.allocate(event.address, event.bytes, event.place);
    else
      books.release(event.address);
  }
  if (forward_events >= events.size()) memory.saved = books.now();
  memory.peak = books.peak_bytes();
  memory.at_peak = books.at_peak();
  memory.totals = books.totals();
  memory.own_peak = books.own_peak();
  memory.own_forward_peak = books.own_peak_in_forward();
  return memory;
}

}  // namespace cpize::profile
