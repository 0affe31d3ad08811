// ThreadsBackend: a c10d::Backend whose ranks are threads of this process; CPU tensors only.
//
// It implements what the library uses: alltoall_base with splits, allreduce (SUM, MAX, MIN) and barrier, and is the
// collective sanitizer at the same time (see rendezvous.hpp). Start ranks with run_ranks().
#pragma once
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <atomic>
#include <memory>

#include "comm/rendezvous.hpp"

namespace cpize::comm {

class ThreadsBackend : public c10d::Backend {
 public:
  ThreadsBackend(int rank, std::shared_ptr<Rendezvous> rendezvous);

  const std::string getBackendName() const override { return "threads"; }

  /// tensors: exactly one. Shape, dtype, reduction and call site must agree on all ranks (else PeerError on all).
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options = {}) override;
  /// One-dimensional tensors; splits in elements, one a rank.
  c10::intrusive_ptr<c10d::Work> alltoall_base(at::Tensor& output, at::Tensor& input,
                                               std::vector<std::int64_t>& output_splits,
                                               std::vector<std::int64_t>& input_splits,
                                               const c10d::AllToAllOptions& options = {}) override;
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& options = {}) override;

  Rendezvous& rendezvous() const { return *rendezvous_; }

 private:
  c10::intrusive_ptr<c10d::Work> post(PostedOperation operation);

  std::shared_ptr<Rendezvous> rendezvous_;
  std::atomic<std::uint64_t> sequence_{0};
};

}  // namespace cpize::comm
