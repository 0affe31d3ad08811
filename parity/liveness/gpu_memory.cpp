#include <c10/cuda/CUDACachingAllocator.h>

#include "parity/liveness/faulty_backend.hpp"

namespace cpize::parity {

void take_gpu_memory_away(at::Device device) {
  c10::cuda::CUDACachingAllocator::emptyCache();
  c10::cuda::CUDACachingAllocator::setMemoryFraction(1e-6, device.index());
}

}  // namespace cpize::parity
