// MpiBackend: ranks are processes over MPI. Collectives with the checks of the threads backend, and no wait without an
// end.
//
// alltoall_base with splits, allreduce (SUM, MAX, MIN) and barrier; every dtype of ATen; any length. Tensors on a GPU
// are staged through the host. Work is started at once and ends in wait(), which also moves the other operations of
// this rank on; a background thread does so now and then. An operation belongs to the operations of the same number on
// the other ranks, whichever thread starts it.
//
// Every wait ends: with the result; with a PeerError where ranks disagree, where one fails or leaves, or where one does
// not come within the timeout (the error lists who is absent). The first cause is told to everybody.
//
// On request, and on one machine, exchanges of tensors on a GPU (which several ranks may share) are copies by the
// GPUs' copy engines instead (comm/peers/peer_copies.hpp). Of these only sizes are compared, and a GPU that waits for a
// peer that was stopped after it had posted waits as long as that one: MPI has no heartbeat.
#pragma once
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "comm/mpi/operation.hpp"
#include "comm/process_backend.hpp"

namespace cpize::comm::mpi {

class MpiBackend : public ProcessBackend {
 public:
  MpiBackend(std::unique_ptr<Endpoint> endpoint, const ProcessBackendOptions& options);
  ~MpiBackend() override;

  /// Exchanges of tensors on `gpu` are peer copies from now on. A collective; ConfigError where they are not possible.
  void copy_between(at::Device gpu, std::chrono::milliseconds join_timeout);

  const std::string getBackendName() const override { return "mpi"; }
  at::Device device() const override { return at::kCPU; }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options = {}) override;
  c10::intrusive_ptr<c10d::Work> alltoall_base(at::Tensor& output, at::Tensor& input,
                                               std::vector<std::int64_t>& output_splits,
                                               std::vector<std::int64_t>& input_splits,
                                               const c10d::AllToAllOptions& options = {}) override;
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& options = {}) override;

  std::string failure() noexcept override;
  std::string fail(const std::string& cause) noexcept override;
  void linger(std::chrono::milliseconds at_most) noexcept override;
  /// Over a communicator of its own.
  c10::intrusive_ptr<c10d::Backend> spare() override;
  void leave() override;

  /// Of a Work: blocks until the operation is done, or throws PeerError.
  void wait(Operation& operation, std::chrono::milliseconds timeout);

 private:
  enum class Word : std::int32_t { left = 1, failed = 2, over = 3 };  // over: has failed, said so, and ends
  struct Notice {
    Word word;
    std::int32_t from;
    char text[1000];
  };

  c10::intrusive_ptr<c10d::Work> post(PostedOperation operation);
  /// A rank that is done, and so comes to no exchange any more; empty while there is none.
  std::string who_returned() noexcept;
  // All below: with the mutex held.
  void progress();
  void progress_or_give_up() noexcept;
  void hear();
  void tell_all(Word word, const std::string& text);
  void give_up(const std::string& cause);
  std::string why_it_cannot_end(const Operation& operation) const;
  std::string absent(const Operation& operation) const;

  const std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::unique_ptr<Endpoint> endpoint_;
  std::uint64_t sequence_ = 0;
  std::list<std::shared_ptr<Operation>> open_;
  std::string first_cause_;
  std::vector<bool> left_, over_;
  Notice heard_{};
  MPI_Request hearing_ = MPI_REQUEST_NULL;
  std::list<Notice> told_;  // what is still being sent
  Requests telling_;
  bool finalized_ = false, ending_ = false;
  std::condition_variable end_;
  std::thread background_;
};

}  // namespace cpize::comm::mpi
