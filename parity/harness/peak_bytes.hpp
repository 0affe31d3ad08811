// PeakBytes: what the tensors of this rank hold at most, on the CPU (the rank's own meter) or on its GPU (the device
// allocator's statistics, exact since a process holds one rank).
#pragma once
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>

#include "comm/memory_meter.hpp"

namespace cpize::parity {

class PeakBytes {
 public:
  explicit PeakBytes(c10::Device device);

  /// What is held now becomes the zero line; the peak starts again from there.
  void reset();
  std::int64_t current() const;
  std::int64_t peak() const;

 private:
  std::int64_t held_on_device(bool most) const;

  c10::Device device_;
  comm::MemoryMeter meter_;
  std::unique_ptr<comm::MemoryMeter::Scope> metered_;  // CPU only
  std::int64_t zero_line_ = 0;
};

}  // namespace cpize::parity
