#include "comm/peers/stream_flags.hpp"

#include <c10/util/Exception.h>

#include <type_traits>

namespace cpize::comm::peers {
namespace {

template <class Function>
bool find(const char* name, Function& function) {
  constexpr unsigned version = 12000;
  cudaDriverEntryPointQueryResult found{};
  void* address = nullptr;
  const bool ok = cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &found) == cudaSuccess &&
                  found == cudaDriverEntryPointSuccess;
  function = reinterpret_cast<Function>(address);
  return ok && address != nullptr;
}

}  // namespace

bool StreamFlags::open() { return find("cuStreamWriteValue32", write_) && find("cuStreamWaitValue32", wait_); }

void StreamFlags::write(cudaStream_t stream, char* flag, std::uint64_t number) const {
  TORCH_CHECK(write_(stream, reinterpret_cast<CUdeviceptr>(flag), static_cast<cuuint32_t>(number),
                     CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS,
              "cuStreamWriteValue32 failed");
}

void StreamFlags::wait_for(cudaStream_t stream, char* flag, std::uint64_t number) const {
  TORCH_CHECK(wait_(stream, reinterpret_cast<CUdeviceptr>(flag), static_cast<cuuint32_t>(number),
                    CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS,
              "cuStreamWaitValue32 failed");
}

}  // namespace cpize::comm::peers
