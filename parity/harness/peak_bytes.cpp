#include "parity/harness/peak_bytes.hpp"

#include <c10/core/CachingDeviceAllocator.h>

namespace cpize::parity {

PeakBytes::PeakBytes(c10::Device device) : device_(device) {
  if (device_.is_cpu()) metered_ = std::make_unique<comm::MemoryMeter::Scope>(meter_);
}

std::int64_t PeakBytes::held_on_device(bool most) const {
  const auto stats = c10::getDeviceAllocator(device_.type())->getDeviceStats(device_.index());
  const auto& bytes = stats.requested_bytes[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
  return most ? bytes.peak : bytes.current;
}

void PeakBytes::reset() {
  if (device_.is_cpu()) {
    meter_.reset();
    return;
  }
  c10::getDeviceAllocator(device_.type())->resetPeakStats(device_.index());
  zero_line_ = held_on_device(false);
}

std::int64_t PeakBytes::current() const {
  return device_.is_cpu() ? meter_.current_bytes() : held_on_device(false) - zero_line_;
}

std::int64_t PeakBytes::peak() const {
  return device_.is_cpu() ? meter_.peak_bytes() : held_on_device(true) - zero_line_;
}

}  // namespace cpize::parity
