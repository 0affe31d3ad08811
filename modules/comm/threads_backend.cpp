#include "comm/threads_backend.hpp"

#include "comm/call_site.hpp"
#include "error/error.hpp"

namespace cpize::comm {
namespace {

class ThreadsWork : public c10d::Work {
 public:
  ThreadsWork(std::shared_ptr<Rendezvous> rendezvous, std::shared_ptr<Rendezvous::Meeting> meeting, int rank)
      : rendezvous_(std::move(rendezvous)), meeting_(std::move(meeting)), rank_(rank) {}

  bool wait(std::chrono::milliseconds = kNoTimeout) override {
    if (meeting_) rendezvous_->wait(*meeting_, rank_);
    meeting_.reset();
    return true;
  }

 private:
  std::shared_ptr<Rendezvous> rendezvous_;
  std::shared_ptr<Rendezvous::Meeting> meeting_;
  int rank_;
};

void require_cpu(const at::Tensor& tensor) {
  if (!tensor.is_cpu())
    throw ContractError("threads backend: got a tensor on " + tensor.device().str() +
                        "; ranks as threads take CPU tensors only, use the mpi or nccl backend for others");
}

}  // namespace

ThreadsBackend::ThreadsBackend(int rank, std::shared_ptr<Rendezvous> rendezvous)
    : Backend(rank, rendezvous->ranks()), rendezvous_(std::move(rendezvous)) {}

c10::intrusive_ptr<c10d::Work> ThreadsBackend::post(PostedOperation operation) {
  operation.site = CallSite::current();
  return c10::make_intrusive<ThreadsWork>(rendezvous_, rendezvous_->post(rank_, sequence_++, std::move(operation)),
                                          rank_);
}

c10::intrusive_ptr<c10d::Work> ThreadsBackend::allreduce(std::vector<at::Tensor>& tensors,
                                                         const c10d::AllreduceOptions& options) {
  if (tensors.size() != 1)
    throw ContractError("threads backend: allreduce takes one tensor, got " + std::to_string(tensors.size()));
  require_cpu(tensors[0]);
  PostedOperation operation;
  operation.kind = c10d::OpType::ALLREDUCE;
  operation.reduction = static_cast<c10d::ReduceOp::RedOpType>(options.reduceOp);
  operation.output = operation.input = tensors[0];
  return post(std::move(operation));
}

c10::intrusive_ptr<c10d::Work> ThreadsBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                             std::vector<std::int64_t>& output_splits,
                                                             std::vector<std::int64_t>& input_splits,
                                                             const c10d::AllToAllOptions&) {
  require_cpu(output);
  require_cpu(input);
  const auto ranks = static_cast<std::size_t>(getSize());
  if (output_splits.size() != ranks || input_splits.size() != ranks)
    throw ContractError("threads backend: alltoall_base wants one split a rank (" + std::to_string(ranks) + "), got " +
                        std::to_string(output_splits.size()) + " and " + std::to_string(input_splits.size()));
  return post({c10d::OpType::ALLTOALL_BASE, c10d::ReduceOp::SUM, output, input, output_splits, input_splits, {}});
}

c10::intrusive_ptr<c10d::Work> ThreadsBackend::barrier(const c10d::BarrierOptions&) {
  PostedOperation operation;
  operation.kind = c10d::OpType::BARRIER;
  return post(std::move(operation));
}

}  // namespace cpize::comm
