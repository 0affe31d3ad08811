#include "parity/liveness/faulty_backend.hpp"

#include <algorithm>
#include <csignal>

#include "error/error.hpp"

namespace cpize::parity {

FaultyBackend::FaultyBackend(c10::intrusive_ptr<c10d::Backend> inner, const FaultPlan& plan,
                             std::function<void()> fired, at::Device device)
    : Backend(inner->getRank(), inner->getSize()),
      inner_(std::move(inner)),
      plan_(plan),
      fired_(std::move(fired)),
      device_(device) {}

void FaultyBackend::next_step() {
  if (step_ == 0) per_step_ = in_step_.load();
  ++step_;
  in_step_ = 0;
}

bool FaultyBackend::happens_now(FaultKind kind) {
  if (plan_.kind != kind || plan_.rank != rank_ || plan_.step != step_) return false;
  fired_();
  return true;
}

void FaultyBackend::before_a_collective() {
  const int number = in_step_++;
  if (plan_.rank != rank_ || plan_.step != step_ || number != plan_.collective % std::max(1, per_step_.load())) return;
  switch (plan_.kind) {
    case FaultKind::allocation:
      fired_();
      plant_allocation_failure(plan_.allocation, device_);
      return;
    case FaultKind::exception:
      fired_();
      throw Error("planted exception on rank " + std::to_string(rank_));
    case FaultKind::kill:
      fired_();
      std::raise(SIGKILL);
      return;
    case FaultKind::stop:
      fired_();
      std::raise(SIGSTOP);
      return;
    default:
      return;
  }
}

c10::intrusive_ptr<c10d::Work> FaultyBackend::allreduce(std::vector<at::Tensor>& tensors,
                                                        const c10d::AllreduceOptions& options) {
  before_a_collective();
  return inner_->allreduce(tensors, options);
}

c10::intrusive_ptr<c10d::Work> FaultyBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                            std::vector<std::int64_t>& output_splits,
                                                            std::vector<std::int64_t>& input_splits,
                                                            const c10d::AllToAllOptions& options) {
  before_a_collective();
  return inner_->alltoall_base(output, input, output_splits, input_splits, options);
}

c10::intrusive_ptr<c10d::Work> FaultyBackend::barrier(const c10d::BarrierOptions& options) {
  before_a_collective();
  return inner_->barrier(options);
}

}  // namespace cpize::parity
