// NcclBackend: ranks are processes with one GPU each, over libtorch's ProcessGroupNCCL (watchdog, timeouts, flight
// recorder). Where all GPUs are of one machine, all-to-all exchanges are copies of the GPUs' copy engines instead
// (comm/peers/peer_copies.hpp); while a CUDA graph is captured they are NCCL's.
//
// What NCCL cannot tell (who failed, who is gone) is kept in the store where the ranks met, see
// comm/store_liveness.hpp. NVLink multicast and all other NCCL_* and TORCH_NCCL_* variables stay as the environment has
// them; only where ranks are to share a GPU is NCCL_HOSTID set, if it is not.
#pragma once
#include "comm/posted_operation.hpp"
#include "comm/process_backend.hpp"
#include "comm/store_liveness.hpp"

namespace cpize::comm::nccl {

class NcclBackend : public ProcessBackend {
 public:
  NcclBackend(const ProcessStore& met, const LaunchEnvironment& launch, at::Device gpu,
              const ProcessBackendOptions& options);
  ~NcclBackend() override;

  const std::string getBackendName() const override { return "nccl"; }
  at::Device device() const override { return gpu_; }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options = {}) override;
  c10::intrusive_ptr<c10d::Work> alltoall_base(at::Tensor& output, at::Tensor& input,
                                               std::vector<std::int64_t>& output_splits,
                                               std::vector<std::int64_t>& input_splits,
                                               const c10d::AllToAllOptions& options = {}) override;
  c10::intrusive_ptr<c10d::Work> alltoall(std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs,
                                          const c10d::AllToAllOptions& options = {}) override;
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& options = {}) override;

  std::string failure() noexcept override { return liveness_.failure(); }
  std::string fail(const std::string& cause) noexcept override { return liveness_.fail(cause); }
  void linger(std::chrono::milliseconds at_most) noexcept override { liveness_.linger(at_most); }
  /// Itself: with check_collectives a mistake is noticed before NCCL hears of it. ConfigError without.
  c10::intrusive_ptr<c10d::Backend> spare() override;
  void leave() override;

 private:
  void require_here(const at::Tensor& tensor) const;
  void check(PostedOperation operation);

  at::Device gpu_;
  std::chrono::milliseconds timeout_;
  bool checks_;
  ProcessStore met_;
  StoreLiveness liveness_;
  c10::intrusive_ptr<c10d::Backend> group_;
};

}  // namespace cpize::comm::nccl
