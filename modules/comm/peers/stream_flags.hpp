// StreamFlags: words of GPU memory that streams write and wait for, so that GPUs follow each other without a host.
// Operations of the driver that the runtime has no name for.
#pragma once
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace cpize::comm::peers {

class StreamFlags {
 public:
  /// False where the driver has no such operations.
  bool open();
  /// *flag = number, once all work before it on the stream is done.
  void write(cudaStream_t stream, char* flag, std::uint64_t number) const;
  /// Until the flag has reached `number`; of both only 32 bits, which may wrap around.
  void wait_for(cudaStream_t stream, char* flag, std::uint64_t number) const;

 private:
  PFN_cuStreamWriteValue32_v11070 write_ = nullptr;
  PFN_cuStreamWaitValue32_v11070 wait_ = nullptr;
};

}  // namespace cpize::comm::peers
