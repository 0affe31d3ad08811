// SharedPool: GPU memory of this process that others may open (CUDA IPC), and theirs.
//
// It comes from a pool of its own of the caching allocator, whose allocations stay: each is named once here and opened
// once by every peer. What is freed is used again in the order of the stream, as everywhere.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/cuda/MemPool.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "comm/peers/peer_board.hpp"

namespace cpize::comm::peers {

/// An allocation that others know by name.
struct SharedAllocation {
  char* begin = nullptr;
  std::size_t size = 0;
  MemoryName name{};
};

/// Of memory that starts at an allocation's start. Returns what is against it, or "".
std::string name_memory(void* begin, MemoryName& name);
/// Of another process. cudaIpcCloseMemHandle gives it back.
std::string open_memory(const MemoryName& name, char*& memory);
/// The text of an error, which is pending no longer.
std::string error_text(cudaError_t error);

/// Any thread.
class SharedPool {
 public:
  explicit SharedPool(at::Device gpu);

  /// ResourceError where it cannot be shared.
  at::Tensor allocate(at::IntArrayRef sizes, const at::TensorOptions& options);
  /// Which allocation of the pool holds `t`, if any.
  const SharedAllocation* holder_of(const at::Tensor& t) const;

 private:
  const at::Device gpu_;
  at::cuda::MemPool pool_;
  mutable std::mutex mutex_;
  std::map<const char*, SharedAllocation> named_;  // by their start; they stay
};

}  // namespace cpize::comm::peers
