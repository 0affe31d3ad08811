#include <ATen/ATen.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include "parity/liveness/faulty_backend.hpp"

namespace cpize::parity {

void take_gpu_memory_away(at::Device device) {
  c10::cuda::CUDACachingAllocator::emptyCache();
  c10::cuda::CUDACachingAllocator::setMemoryFraction(1e-6, device.index());
  // small tensors still fit into what is held already; this does not, and says so as any other allocation would
  at::empty({std::int64_t{1} << 28}, at::TensorOptions(device).dtype(at::kFloat));
}

}  // namespace cpize::parity
