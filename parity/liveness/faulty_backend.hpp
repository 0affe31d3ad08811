// FaultyBackend: passes every collective on to another backend, and lets a planned fault happen just before one of
// them.
//
// A harness facility: wrap the backend of any mesh, call next_step() at the top of the loop, and run what is to be
// tried.
#pragma once
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <atomic>
#include <functional>

#include "parity/liveness/fault_plan.hpp"

namespace cpize::parity {

class FaultyBackend : public c10d::Backend {
 public:
  /// `fired`: called on the faulty rank right before the fault happens. `device`: whose memory runs out.
  FaultyBackend(c10::intrusive_ptr<c10d::Backend> inner, const FaultPlan& plan, std::function<void()> fired,
                at::Device device = at::kCPU);

  const std::string getBackendName() const override { return inner_->getBackendName(); }
  void next_step();
  /// Also for faults that happen in the loop itself: whether it is this rank's and this step's turn; then calls
  /// `fired`.
  bool happens_now(FaultKind kind);

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options = {}) override;
  c10::intrusive_ptr<c10d::Work> alltoall_base(at::Tensor& output, at::Tensor& input,
                                               std::vector<std::int64_t>& output_splits,
                                               std::vector<std::int64_t>& input_splits,
                                               const c10d::AllToAllOptions& options = {}) override;
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& options = {}) override;

 private:
  void before_a_collective();

  c10::intrusive_ptr<c10d::Backend> inner_;
  const FaultPlan plan_;
  const std::function<void()> fired_;
  const at::Device device_;
  std::atomic<int> step_{-1}, in_step_{0}, per_step_{0};
};

/// The `count`-th allocation of this thread from now on fails: on the CPU as the allocator itself would say it. On a
/// GPU its memory is taken away and one more allocation made, at once.
void plant_allocation_failure(int count, at::Device device);
/// Of the GPU, where this build has one.
void take_gpu_memory_away(at::Device device);

}  // namespace cpize::parity
