#include "comm/memory_meter.hpp"

namespace cpize::comm {

struct MemoryMeter::Counter : c10::MemoryReportingInfoBase {
  std::atomic<std::int64_t> current{0}, peak{0};

  void reportMemoryUsage(void*, std::int64_t alloc_size, std::size_t, std::size_t, c10::Device) override {
    const std::int64_t now = current += alloc_size;
    std::int64_t seen = peak.load();
    while (now > seen && !peak.compare_exchange_weak(seen, now)) {
    }
  }
  bool memoryProfilingEnabled() const override { return true; }
};

MemoryMeter::MemoryMeter() : counter_(std::make_shared<Counter>()) {}
std::int64_t MemoryMeter::current_bytes() const { return counter_->current; }
std::int64_t MemoryMeter::peak_bytes() const { return counter_->peak; }
void MemoryMeter::reset() {
  counter_->current = 0;
  counter_->peak = 0;
}

MemoryMeter::Scope::Scope(const MemoryMeter& meter) : guard_(c10::DebugInfoKind::PROFILER_STATE, meter.counter_) {}

}  // namespace cpize::comm
