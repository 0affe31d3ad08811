// MemoryMeter: bytes that one rank's tensors hold on the CPU, now and at most, counted by the allocator.
//
// Attach it in the rank's thread; everything allocated there, and in the nodes that the autograd engine runs for it, is
// counted. Frees of tensors that were allocated outside the scope count too, so start from a clean point:
//   MemoryMeter::Scope metered(meter);  meter.reset();  ...  meter.peak_bytes();
#pragma once
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace cpize::comm {

class MemoryMeter {
 public:
  MemoryMeter();

  std::int64_t current_bytes() const;
  std::int64_t peak_bytes() const;
  /// What is held now becomes the zero line; the peak starts again from there.
  void reset();

  class Scope {
   public:
    explicit Scope(const MemoryMeter& meter);

   private:
    c10::DebugInfoGuard guard_;
  };

 private:
  struct Counter;
  std::shared_ptr<Counter> counter_;
};

}  // namespace cpize::comm
