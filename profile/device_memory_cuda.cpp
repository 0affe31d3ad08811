#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/cuda/memory_snapshot.h>

#include <filesystem>
#include <fstream>

#include "error/error.hpp"
#include "profile/device_memory.hpp"
#include "profile/memory_history.hpp"
#include "profile/scope_traceback.hpp"

namespace cpize::profile {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;
using allocator::TraceEntry;

constexpr std::size_t kMostEntries = 1 << 20;
constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

/// RAII: the allocator keeps its history, with scopes.
class History {
 public:
  History() {
    allocator::recordHistory(true, &ScopeTraceback::gather, kMostEntries, allocator::RecordContext::ALL, true, {});
  }
  ~History() { allocator::recordHistory(false, nullptr, 1, allocator::RecordContext::NEVER, true, {}); }
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  static std::vector<TraceEntry> entries(c10::Device device) {
    return allocator::snapshot().device_traces.at(static_cast<std::size_t>(device.index()));
  }
};

/// Memory that another stream still uses counts until that stream is done: until FREE_COMPLETED.
std::vector<MemoryEvent> events_of(const std::vector<TraceEntry>& entries) {
  std::vector<MemoryEvent> events;
  for (const auto& entry : entries) {
    if (entry.action_ == TraceEntry::ALLOC)
      events.push_back({MemoryEvent::Kind::allocated, entry.addr_, static_cast<std::int64_t>(entry.size_),
                        place_of(entry.context_.get())});
    else if (entry.action_ == TraceEntry::FREE_COMPLETED)
      events.push_back({MemoryEvent::Kind::released, entry.addr_, static_cast<std::int64_t>(entry.size_), {}});
  }
  return events;
}

void write_snapshot(const std::string& file) {
  const std::string pickled = torch::cuda::_memory_snapshot_pickled();
  std::ofstream out(file, std::ios::binary);
  out << pickled;
  out.close();
  if (!out) throw InputError(file, "cannot be written");
}

}  // namespace

DeviceMemory measure_device_memory(const Step& step, c10::Device device, const std::string& snapshot) {
  c10::cuda::device_synchronize();
  const ScopeTracker tracker(ScopeTracker::Reach::process);
  allocator::emptyCache();  // what waits for other streams is free now, and `reserved` is this step's
  allocator::resetPeakStats(device.index());
  const std::int64_t before = allocator::getDeviceStats(device.index()).requested_bytes[kAll].current;
  const History history;
  std::size_t forward_events = 0;
  step([&] { forward_events = events_of(History::entries(device)).size(); });
  c10::cuda::device_synchronize();
  const auto stats = allocator::getDeviceStats(device.index());
  const auto entries = History::entries(device);
  if (entries.size() >= kMostEntries)
    throw ContractError("the step made more than " + std::to_string(kMostEntries) + " entries of allocator history");
  if (!snapshot.empty()) write_snapshot(snapshot);
  DeviceMemory result{book_history(events_of(entries), forward_events)};
  result.allocator_peak = stats.requested_bytes[kAll].peak - before;
  result.reserved = stats.reserved_bytes[kAll].peak;
  return result;
}

std::string device_name(c10::Device device) { return at::cuda::getDeviceProperties(device.index())->name; }

}  // namespace cpize::profile
