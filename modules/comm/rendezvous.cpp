#include "comm/rendezvous.hpp"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <numeric>

#include "error/error.hpp"

namespace cpize::comm {
namespace {

/// Counts nothing. (A DebugInfoGuard over a null pointer would change nothing.)
struct Unmetered : c10::MemoryReportingInfoBase {
  void reportMemoryUsage(void*, std::int64_t, std::size_t, std::size_t, c10::Device) override {}
  bool memoryProfilingEnabled() const override { return false; }
};

void all_reduce(std::vector<std::optional<PostedOperation>>& posted) {
  at::Tensor sum = posted[0]->input.clone();
  for (std::size_t r = 1; r < posted.size(); ++r) {  // rank order: the result does not depend on who came last
    const at::Tensor& next = posted[r]->input;
    switch (posted[0]->reduction) {
      case c10d::ReduceOp::SUM:
        sum.add_(next);
        break;
      case c10d::ReduceOp::MAX:
        at::maximum_out(sum, sum, next);
        break;
      case c10d::ReduceOp::MIN:
        at::minimum_out(sum, sum, next);
        break;
      default:
        throw NotImplemented("threads backend: only SUM, MAX and MIN are reductions that it knows");
    }
  }
  for (auto& operation : posted) operation->output.copy_(sum);
}

void all_to_all(std::vector<std::optional<PostedOperation>>& posted, std::vector<std::int64_t>& bytes) {
  const std::size_t ranks = posted.size();
  std::vector<std::int64_t> filled(ranks, 0);  // sources are walked in rank order, so each output fills from the front
  for (std::size_t s = 0; s < ranks; ++s) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < ranks; ++d) {
      const std::int64_t count = posted[s]->input_splits[d];
      if (count > 0) {
        posted[d]->output.narrow(0, filled[d], count).copy_(posted[s]->input.narrow(0, offset, count));
        if (s != d) bytes[s] += count * posted[s]->input.element_size();
      }
      offset += count;
      filled[d] += count;
    }
  }
}

}  // namespace

Rendezvous::Rendezvous(int ranks, std::chrono::milliseconds timeout)
    : ranks_(ranks), timeout_(timeout), left_(ranks), bytes_(ranks, 0) {}

std::int64_t Rendezvous::bytes_moved(int rank) const {
  std::lock_guard lock(mutex_);
  return bytes_[rank];
}

void Rendezvous::execute(Meeting& meeting) {
  at::NoGradGuard no_grad;
  // What the executing rank allocates here belongs to no rank's peak: hide it from a MemoryMeter.
  static const auto nobody = std::make_shared<Unmetered>();
  c10::DebugInfoGuard unmetered(c10::DebugInfoKind::PROFILER_STATE, nobody);
  at::DisableRecordFunctionGuard unprofiled;  // Kineto takes whatever is in that slot for its own state
  switch (meeting.posted[0]->kind) {
    case c10d::OpType::ALLREDUCE:
      all_reduce(meeting.posted);
      break;
    case c10d::OpType::ALLTOALL_BASE:
      all_to_all(meeting.posted, bytes_);
      break;
    default:
      break;  // a barrier moves nothing
  }
}

std::shared_ptr<Rendezvous::Meeting> Rendezvous::post(int rank, std::uint64_t sequence, PostedOperation operation) {
  std::unique_lock lock(mutex_);
  auto& slot = open_[sequence];
  if (!slot) {
    slot = std::make_shared<Meeting>();
    slot->posted.resize(ranks_);
  }
  auto meeting = slot;
  meeting->posted[rank] = std::move(operation);
  if (++meeting->arrived < ranks_) return meeting;

  open_.erase(sequence);
  meeting->error = abort_.empty() ? find_mismatch(meeting->posted) : abort_;  // too late: others gave up on this one
  if (meeting->error.empty()) {
    lock.unlock();  // all ranks are here: nobody else touches this meeting
    std::string error;
    try {
      execute(*meeting);
    } catch (const std::exception& e) {
      error = e.what();
    }
    lock.lock();
    meeting->error = error;
  }
  if (!meeting->error.empty() && abort_.empty()) abort_ = meeting->error;
  meeting->done = true;
  changed_.notify_all();
  return meeting;
}

std::string Rendezvous::why_it_cannot_end(const Meeting& meeting, int rank) const {
  const std::string waiting = meeting.posted[rank]->str();
  if (!abort_.empty()) return abort_ + " (while rank " + std::to_string(rank) + " waited in " + waiting + ")";
  for (int r = 0; r < ranks_; ++r)
    if (!meeting.posted[r] && left_[r])
      return "rank " + std::to_string(r) + " returned and never reached " + waiting + " of rank " +
             std::to_string(rank);
  return "";
}

void Rendezvous::wait(Meeting& meeting, int rank) {
  std::unique_lock lock(mutex_);
  const auto deadline = std::chrono::steady_clock::now() + timeout_;
  while (!meeting.done) {
    if (std::string why = why_it_cannot_end(meeting, rank); !why.empty()) {
      if (abort_.empty()) abort_ = why;
      changed_.notify_all();
      throw PeerError(why);
    }
    if (changed_.wait_until(lock, deadline) == std::cv_status::timeout && !meeting.done && abort_.empty()) {
      std::string absent;
      for (int r = 0; r < ranks_; ++r)
        if (!meeting.posted[r]) absent += (absent.empty() ? "" : ", ") + std::to_string(r);
      abort_ = "no answer within " + std::to_string(timeout_.count()) + " ms: rank " + std::to_string(rank) +
               " waits in " + meeting.posted[rank]->str() + " for rank " + absent;
      changed_.notify_all();
    }
  }
  if (!meeting.error.empty()) throw PeerError(meeting.error);
  // Each rank frees its own tensors on its own thread, so that per-rank peak bytes are exact.
  PostedOperation mine = std::move(*meeting.posted[rank]);
  lock.unlock();
}

void Rendezvous::leave(int rank, const std::string& error) {
  std::lock_guard lock(mutex_);
  left_[rank] = error;
  if (!error.empty() && abort_.empty()) abort_ = "rank " + std::to_string(rank) + " failed: " + error;
  changed_.notify_all();
}

}  // namespace cpize::comm
