#include "comm/mpi/operation.hpp"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>

#include "error/error.hpp"

namespace cpize::comm::mpi {
namespace {

constexpr std::int64_t small_bytes = 64 * 1024;  // an all-reduce of so much in all is not worth a second round

/// Counts nothing. (A DebugInfoGuard over a null pointer would change nothing.)
struct Unmetered : c10::MemoryReportingInfoBase {
  void reportMemoryUsage(void*, std::int64_t, std::size_t, std::size_t, c10::Device) override {}
  bool memoryProfilingEnabled() const override { return false; }
};

/// What the backend allocates for itself belongs to no port's peak, as over threads.
struct Aside {
  static std::shared_ptr<Unmetered> nobody() {
    static const auto one = std::make_shared<Unmetered>();
    return one;
  }
  at::NoGradGuard no_grad;
  c10::DebugInfoGuard unmetered{c10::DebugInfoKind::PROFILER_STATE, nobody()};
  at::DisableRecordFunctionGuard unprofiled;  // Kineto takes whatever is in that slot for its own state
};

at::Tensor on_host(const at::Tensor& t) { return t.detach().to(at::kCPU).contiguous().view({-1}); }

at::Tensor reduced(const std::vector<at::Tensor>& brought, c10d::ReduceOp::RedOpType how) {
  const auto dtype = brought[0].scalar_type();
  const bool narrow = how == c10d::ReduceOp::SUM && (dtype == at::kBFloat16 || dtype == at::kHalf);
  at::Tensor result = narrow ? brought[0].to(at::kFloat) : brought[0].clone();
  for (std::size_t r = 1; r < brought.size(); ++r) {
    if (how == c10d::ReduceOp::SUM)
      result.add_(brought[r]);
    else if (how == c10d::ReduceOp::MAX)
      at::maximum_out(result, result, brought[r]);
    else
      at::minimum_out(result, result, brought[r]);
  }
  return result.to(dtype);
}

std::vector<std::int64_t> offsets(const std::vector<std::int64_t>& splits) {
  std::vector<std::int64_t> at(splits.size() + 1, 0);
  for (std::size_t i = 0; i < splits.size(); ++i) at[i + 1] = at[i] + splits[i];
  return at;
}

void* bytes_of(const at::Tensor& t) { return t.numel() ? t.data_ptr() : nullptr; }

}  // namespace

int Operation::tag(int phase) const {  // 0 is for control; messages of one tag stay in order
  return 1 + 3 * static_cast<int>(sequence_ % 4096) + phase;
}

at::Tensor Operation::part(const at::Tensor& flat, int rank) const {
  const std::int64_t n = flat.numel(), low = n * rank / size_, high = n * (rank + 1) / size_;
  return flat.narrow(0, low, high - low);
}

bool Operation::all_arrived() const {
  return std::ranges::all_of(arrived_, [](bool b) { return b; });
}

Operation::Operation(PostedOperation posted, std::uint64_t sequence, Endpoint& endpoint)
    : posted_(std::move(posted)),
      sequence_(sequence),
      rank_(endpoint.rank()),
      size_(endpoint.size()),
      sent_(size_),
      received_(size_),
      envelopes_(size_, MPI_REQUEST_NULL),
      arrived_(size_, false),
      incoming_(size_) {
  Aside aside;
  prepare();  // what may fail (memory, wrong splits) comes before anything is on its way
  arrived_[rank_] = true;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    Requests one;
    endpoint.receive(peer, tag(0), &received_[peer], sizeof(Envelope), one);
    envelopes_[peer] = one[0];
    sent_[peer] = envelope_of(posted_, sequence_, peer);
    endpoint.send(peer, tag(0), &sent_[peer], sizeof(Envelope), outgoing_);
  }
  start(endpoint);
}

void Operation::prepare() {
  if (posted_.kind == c10d::OpType::ALLTOALL_BASE) {
    send_ = on_host(posted_.input);
    receive_ = posted_.output.is_cpu() && posted_.output.is_contiguous()
                   ? posted_.output.detach().view({-1})
                   : at::empty({posted_.output.numel()}, posted_.output.options().device(at::kCPU));
    send_at_ = offsets(posted_.input_splits);
    receive_at_ = offsets(posted_.output_splits);
    if (send_at_.back() != send_.numel() || receive_at_.back() != receive_.numel())
      throw ContractError("mpi backend: splits add up to " + std::to_string(send_at_.back()) + " and " +
                          std::to_string(receive_at_.back()) + " elements, the tensors have " +
                          std::to_string(send_.numel()) + " and " + std::to_string(receive_.numel()));
    if (posted_.input_splits[rank_] != posted_.output_splits[rank_])
      throw ContractError("mpi backend: rank " + std::to_string(rank_) + " sends " +
                          std::to_string(posted_.input_splits[rank_]) + " elements to itself and expects " +
                          std::to_string(posted_.output_splits[rank_]));
  } else if (posted_.kind == c10d::OpType::ALLREDUCE) {
    send_ = on_host(posted_.input);
    by_parts_ = static_cast<std::int64_t>(send_.nbytes()) * size_ > small_bytes;
    const at::Tensor mine = by_parts_ ? part(send_, rank_) : send_;
    brought_.resize(size_);
    for (int peer = 0; peer < size_; ++peer) brought_[peer] = peer == rank_ ? mine : at::empty_like(mine);
  }
}

void Operation::start(Endpoint& endpoint) {
  for (int step = 1; step < size_; ++step) {  // each rank starts with another peer
    const int peer = (rank_ + step) % size_;
    at::Tensor piece;
    if (posted_.kind == c10d::OpType::ALLTOALL_BASE)
      piece = send_.narrow(0, send_at_[peer], posted_.input_splits[peer]);
    else if (posted_.kind == c10d::OpType::ALLREDUCE)
      piece = by_parts_ ? part(send_, peer) : send_;
    if (piece.defined()) endpoint.send(peer, tag(1), bytes_of(piece), piece.nbytes(), outgoing_);
  }
  if (posted_.kind == c10d::OpType::ALLTOALL_BASE)
    receive_.narrow(0, receive_at_[rank_], posted_.output_splits[rank_])
        .copy_(send_.narrow(0, send_at_[rank_], posted_.input_splits[rank_]));
}

void Operation::receive_from(int peer, Endpoint& endpoint) {
  at::Tensor into;
  if (posted_.kind == c10d::OpType::ALLTOALL_BASE)
    into = receive_.narrow(0, receive_at_[peer], posted_.output_splits[peer]);
  else if (posted_.kind == c10d::OpType::ALLREDUCE)
    into = brought_[peer];
  if (into.defined()) endpoint.receive(peer, tag(1), bytes_of(into), into.nbytes(), incoming_[peer]);
}

std::string Operation::advance(Endpoint& endpoint) {
  if (done_) return "";
  for (int peer = 0; peer < size_; ++peer) {
    if (arrived_[peer] || !endpoint.done(envelopes_[peer])) continue;
    arrived_[peer] = true;
    if (std::string what = find_mismatch(posted_, rank_, received_[peer], peer); !what.empty()) return what;
    receive_from(peer, endpoint);
  }
  bool complete = endpoint.done(outgoing_) && all_arrived();
  for (auto& from_peer : incoming_) complete = endpoint.done(from_peer) && complete;
  if (!complete) return "";
  if (posted_.kind == c10d::OpType::ALLREDUCE && !handing_out_) {
    Aside aside;
    const at::Tensor mine = reduced(brought_, posted_.reduction);
    brought_.clear();
    if (by_parts_) {  // nobody reads what I sent any more, so the parts can be replaced in place
      handing_out_ = true;
      part(send_, rank_).copy_(mine);
      for (int step = 1; step < size_; ++step) {
        const int to = (rank_ + step) % size_, from = (rank_ + size_ - step) % size_;
        const at::Tensor own = part(send_, rank_), theirs = part(send_, from);
        endpoint.send(to, tag(2), bytes_of(own), own.nbytes(), outgoing_);
        endpoint.receive(from, tag(2), bytes_of(theirs), theirs.nbytes(), incoming_[from]);
      }
      return advance(endpoint);
    }
    send_ = mine;
  }
  done_ = true;
  return "";
}

void Operation::deliver() {
  Aside aside;
  if (posted_.kind == c10d::OpType::ALLREDUCE) {
    if (!send_.is_alias_of(posted_.output)) posted_.output.copy_(send_.view(posted_.output.sizes()));
  } else if (posted_.kind == c10d::OpType::ALLTOALL_BASE) {
    if (!receive_.is_alias_of(posted_.output)) posted_.output.copy_(receive_.view(posted_.output.sizes()));
  }
  posted_.input.reset();
  posted_.output.reset();
  send_.reset();
  receive_.reset();
}

}  // namespace cpize::comm::mpi
