#include "comm/peers/shared_pool.hpp"

#include <ATen/ATen.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <cudaTypedefs.h>

#include <algorithm>
#include <thread>

#include "error/error.hpp"

namespace cpize::comm::peers {
namespace {

/// The allocation that `pointer` lies in, from its start; the runtime has no name for it.
std::string allocation_of(const void* pointer, SharedAllocation& allocation) {
  cudaDriverEntryPointQueryResult found{};
  void* address = nullptr;
  if (cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &address, 3020, cudaEnableDefault, &found) !=
          cudaSuccess ||
      address == nullptr)
    return "the driver has no cuMemGetAddressRange";
  CUdeviceptr begin = 0;
  if (reinterpret_cast<PFN_cuMemGetAddressRange_v3020>(address)(&begin, &allocation.size,
                                                                reinterpret_cast<CUdeviceptr>(pointer)) != CUDA_SUCCESS)
    return "cuMemGetAddressRange failed";
  allocation.begin = reinterpret_cast<char*>(begin);
  return "";
}

}  // namespace

std::string error_text(cudaError_t error) {
  cudaGetLastError();
  return cudaGetErrorString(error);
}

std::string name_memory(void* begin, MemoryName& name) {
  cudaIpcMemHandle_t handle;
  static_assert(sizeof handle == sizeof name);
  const cudaError_t error = cudaIpcGetMemHandle(&handle, begin);
  if (error != cudaSuccess) return "naming memory for other processes: " + error_text(error);
  std::copy_n(reinterpret_cast<const char*>(&handle), sizeof handle, name.begin());
  return "";
}

std::string open_memory(const MemoryName& name, char*& memory) {
  cudaIpcMemHandle_t handle;
  std::copy_n(name.begin(), sizeof handle, reinterpret_cast<char*>(&handle));
  void* address = nullptr;
  const cudaError_t error = cudaIpcOpenMemHandle(&address, handle, cudaIpcMemLazyEnablePeerAccess);
  memory = static_cast<char*>(address);
  return error == cudaSuccess ? "" : "opening the memory of another process: " + error_text(error);
}

SharedPool::SharedPool(at::Device gpu) : gpu_(gpu) {}

at::Tensor SharedPool::allocate(at::IntArrayRef sizes, const at::TensorOptions& options) {
  namespace allocator = c10::cuda::CUDACachingAllocator;
  const c10::cuda::CUDAGuard guard(gpu_);
  const auto here = std::this_thread::get_id();
  allocator::beginAllocateToPool(gpu_.index(), pool_.id(),
                                 [here](cudaStream_t) { return std::this_thread::get_id() == here; });
  at::Tensor memory;
  try {
    memory = at::empty(sizes, options.device(gpu_));
  } catch (...) {
    allocator::endAllocateToPool(gpu_.index(), pool_.id());
    throw;
  }
  allocator::endAllocateToPool(gpu_.index(), pool_.id());
  if (memory.numel() == 0 || holder_of(memory) != nullptr) return memory;
  SharedAllocation allocation;
  std::string objection = allocation_of(memory.data_ptr(), allocation);
  if (objection.empty()) objection = name_memory(allocation.begin, allocation.name);
  if (!objection.empty()) throw ResourceError("peer copies: memory cannot be shared: " + objection);
  const std::lock_guard lock(mutex_);
  named_[allocation.begin] = allocation;
  return memory;
}

const SharedAllocation* SharedPool::holder_of(const at::Tensor& t) const {
  const auto* pointer = static_cast<const char*>(t.data_ptr());
  const std::lock_guard lock(mutex_);
  const auto after = named_.upper_bound(pointer);
  if (after == named_.begin()) return nullptr;
  const SharedAllocation& allocation = std::prev(after)->second;
  return pointer < allocation.begin + allocation.size ? &allocation : nullptr;
}

}  // namespace cpize::comm::peers
