#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include "parity/liveness/faulty_backend.hpp"

namespace cpize::parity {
namespace {

thread_local int until_failure = -1;  // of this thread; -1: none is planned

/// The CPU's allocator, which runs out of memory for a thread when it is told to.
class FailingAllocator : public c10::Allocator {
 public:
  explicit FailingAllocator(c10::Allocator* real) : real_(real) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    if (until_failure >= 0 && until_failure-- == 0)
      TORCH_CHECK(false, "DefaultCPUAllocator: can't allocate memory: you tried to allocate ", bytes,
                  " bytes (planted)");
    return real_->allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return real_->raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t count) const override { real_->copy_data(to, from, count); }

 private:
  c10::Allocator* real_;
};

void install() {
  static FailingAllocator* failing = [] {
    auto* made = new FailingAllocator(c10::GetCPUAllocator());  // tensors may outlive every scope
    c10::SetCPUAllocator(made, 255);
    return made;
  }();
  (void)failing;
}

}  // namespace

void plant_allocation_failure(int count, at::Device device) {
  if (device.is_cuda()) return take_gpu_memory_away(device);
  install();
  until_failure = count;
}

}  // namespace cpize::parity
