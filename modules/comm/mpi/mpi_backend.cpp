#include "comm/mpi/mpi_backend.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "comm/call_site.hpp"
#include "comm/mpi/meeting.hpp"
#include "comm/peers/peer_copies.hpp"
#include "error/error.hpp"

namespace cpize::comm::mpi {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int control_tag = 0;

class MpiWork : public c10d::Work {
 public:
  MpiWork(c10::intrusive_ptr<MpiBackend> backend, std::shared_ptr<Operation> operation)
      : backend_(std::move(backend)), operation_(std::move(operation)) {}

  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override {
    if (!operation_) return true;
    backend_->wait(*operation_, timeout);
    operation_->deliver();
    operation_.reset();
    return true;
  }

 private:
  c10::intrusive_ptr<MpiBackend> backend_;
  std::shared_ptr<Operation> operation_;
};

/// Between two looks: lets others run while data flows, which MPI moves on only when looked at; sleeps where a rank is
/// still to come, so that more ranks than cores do not starve each other.
void pause(int looks, bool data_flows) {
  if (looks < 50 || data_flows)
    sched_yield();
  else
    std::this_thread::sleep_for(std::chrono::microseconds(looks < 200 ? 50 : 200));
}

std::string rank_text(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

MpiBackend::MpiBackend(std::unique_ptr<Endpoint> endpoint, const ProcessBackendOptions& options)
    : ProcessBackend(endpoint->rank(), endpoint->size()),
      timeout_(options.timeout),
      endpoint_(std::move(endpoint)),
      left_(getSize(), false),
      over_(getSize(), false) {
  if (getSize() == 1) return;
  endpoint_->receive_any(control_tag, &heard_, sizeof heard_, hearing_);
  background_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      progress_or_give_up();
      end_.wait_for(lock, std::chrono::milliseconds(open_.empty() ? 50 : 5));
    }
  });
}

void MpiBackend::copy_between(at::Device gpu, std::chrono::milliseconds join_timeout) {
  if (getSize() == 1) return;
  std::lock_guard lock(mutex_);
  std::string why;
  try {
    const Meeting meeting(*endpoint_, join_timeout);
    const peers::PeerCopiesOptions options{timeout_, [this] { return failure(); }, [this] { return who_returned(); }};
    peers_ = peers::PeerCopies::join(meeting.store(), rank_, size_, gpu, options, why);
    meeting.leave();
  } catch (const c10::Error& e) {  // the store: somebody did not come
    throw PeerError("peer copies: " + std::string(e.what_without_backtrace()));
  }
  if (!peers_) throw ConfigError("CPIZE_PEER_COPIES=1, but the ranks cannot read each other's GPU memory: " + why);
}

std::string MpiBackend::who_returned() noexcept {
  std::lock_guard lock(mutex_);
  progress_or_give_up();
  for (int r = 0; r < size_; ++r)
    if (left_[r]) return rank_text(r) + " returned and never reached an exchange of " + rank_text(rank_);
  return "";
}

MpiBackend::~MpiBackend() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  end_.notify_all();
  if (background_.joinable()) background_.join();
  // Messages under way (after a failure) may still touch their buffers: these stay for the rest of the process.
  if (!finalized_) {
    new std::list<std::shared_ptr<Operation>>(std::move(open_));
    new std::list<Notice>(std::move(told_));
  }
}

void MpiBackend::tell_all(Word word, const std::string& text) {
  told_.emplace_back(Notice{word, rank_, {}});
  Notice& notice = told_.back();
  std::memcpy(notice.text, text.data(), std::min(text.size(), sizeof notice.text - 1));
  for (int peer = 0; peer < size_; ++peer)
    if (peer != rank_) endpoint_->send(peer, control_tag, &notice, sizeof notice, telling_);
}

void MpiBackend::give_up(const std::string& cause) {
  if (!first_cause_.empty()) return;
  first_cause_ = cause;
  tell_all(Word::failed, cause);
}

void MpiBackend::hear() {
  if (size_ == 1 || finalized_) return;
  while (endpoint_->done(hearing_)) {
    const Notice notice = heard_;
    endpoint_->receive_any(control_tag, &heard_, sizeof heard_, hearing_);
    if (notice.word == Word::left) left_[notice.from] = true;
    if (notice.word == Word::over) over_[notice.from] = true;
    if (notice.word != Word::failed || !first_cause_.empty()) continue;
    first_cause_ = notice.text;
    tell_all(Word::failed, first_cause_);  // whoever failed may be gone before all heard it
  }
}

void MpiBackend::progress() {
  if (finalized_) return;
  hear();
  if (!first_cause_.empty()) return;
  for (auto at = open_.begin(); at != open_.end();) {
    const std::string mismatch = (*at)->advance(*endpoint_);
    if (!mismatch.empty()) return give_up(mismatch);
    at = (*at)->done() ? open_.erase(at) : std::next(at);
  }
}

void MpiBackend::progress_or_give_up() noexcept {
  try {
    progress();
  } catch (const std::exception& e) {  // out of memory while reducing, or MPI itself
    const std::string cause = rank_text(rank_) + " failed: " + e.what();
    try {
      give_up(cause);
    } catch (const std::exception&) {
      first_cause_ = cause;
    }
  }
}

std::string MpiBackend::why_it_cannot_end(const Operation& operation) const {
  if (!first_cause_.empty()) return first_cause_;
  for (int r = 0; r < size_; ++r)
    if (left_[r] && !operation.arrived(r))
      return rank_text(r) + " returned and never reached " + operation.str() + " of " + rank_text(rank_);
  return "";
}

std::string MpiBackend::absent(const Operation& operation) const {
  std::string names;
  for (int r = 0; r < size_; ++r)
    if (operation.owes(r)) names += (names.empty() ? "" : ", ") + std::to_string(r);
  return names.empty() ? "its own data to be taken" : "rank " + names;
}

void MpiBackend::wait(Operation& operation, std::chrono::milliseconds timeout) {
  if (timeout.count() <= 0) timeout = timeout_;
  const auto deadline = Clock::now() + timeout;
  for (int looks = 0;; ++looks) {
    bool data_flows = false;
    {
      std::lock_guard lock(mutex_);
      progress();
      if (operation.done()) return;
      data_flows = operation.all_arrived();
      std::string why = why_it_cannot_end(operation);
      if (why.empty() && Clock::now() > deadline) {
        why = "no answer within " + std::to_string(timeout.count()) + " ms: " + rank_text(rank_) + " waits in " +
              operation.str();
        why += " for " + absent(operation) + (operation.all_arrived() ? ", which came, but its data did not" : "");
      }
      if (!why.empty()) {
        give_up(why);
        throw PeerError(why);
      }
    }
    pause(looks, data_flows);
  }
}

c10::intrusive_ptr<c10d::Work> MpiBackend::post(PostedOperation posted) {
  posted.site = CallSite::current();
  std::shared_ptr<Operation> operation;
  {
    std::lock_guard lock(mutex_);
    if (finalized_)
      throw PeerError("rank " + std::to_string(rank_) + " has left its world; nothing can be sent any more");
    if (!first_cause_.empty()) throw PeerError(first_cause_);
    operation = std::make_shared<Operation>(std::move(posted), sequence_, *endpoint_);
    ++sequence_;
    open_.push_back(operation);
    progress();
  }
  end_.notify_all();
  return c10::make_intrusive<MpiWork>(c10::intrusive_ptr<MpiBackend>::reclaim_copy(this), operation);
}

c10::intrusive_ptr<c10d::Work> MpiBackend::allreduce(std::vector<at::Tensor>& tensors,
                                                     const c10d::AllreduceOptions& options) {
  if (tensors.size() != 1)
    throw ContractError("mpi backend: allreduce takes one tensor, got " + std::to_string(tensors.size()));
  PostedOperation operation;
  operation.kind = c10d::OpType::ALLREDUCE;
  operation.reduction = static_cast<c10d::ReduceOp::RedOpType>(options.reduceOp);
  if (operation.reduction != c10d::ReduceOp::SUM && operation.reduction != c10d::ReduceOp::MAX &&
      operation.reduction != c10d::ReduceOp::MIN)
    throw NotImplemented("mpi backend: only SUM, MAX and MIN are reductions that it knows");
  operation.output = operation.input = tensors[0];
  return post(std::move(operation));
}

c10::intrusive_ptr<c10d::Work> MpiBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                         std::vector<std::int64_t>& output_splits,
                                                         std::vector<std::int64_t>& input_splits,
                                                         const c10d::AllToAllOptions&) {
  const auto ranks = static_cast<std::size_t>(getSize());
  if (output_splits.size() != ranks || input_splits.size() != ranks)
    throw ContractError("mpi backend: alltoall_base wants one split a rank (" + std::to_string(ranks) + "), got " +
                        std::to_string(output_splits.size()) + " and " + std::to_string(input_splits.size()));
  if (output.is_cuda() && output.device() == input.device() && supportsTensorAlloc(output.device().index()))
    return peers_->alltoall_base(output, input, output_splits, input_splits);
  return post({c10d::OpType::ALLTOALL_BASE, c10d::ReduceOp::SUM, output, input, output_splits, input_splits, {}});
}

c10::intrusive_ptr<c10d::Work> MpiBackend::barrier(const c10d::BarrierOptions&) {
  PostedOperation operation;
  operation.kind = c10d::OpType::BARRIER;
  return post(std::move(operation));
}

std::string MpiBackend::failure() noexcept {
  std::lock_guard lock(mutex_);
  progress_or_give_up();
  return first_cause_;
}

std::string MpiBackend::fail(const std::string& cause) noexcept {
  std::lock_guard lock(mutex_);
  try {
    hear();
    give_up(rank_text(rank_) + " failed: " + cause);
  } catch (const std::exception&) {  // MPI itself is broken: the launcher ends the others
  }
  return first_cause_;
}

void MpiBackend::linger(std::chrono::milliseconds at_most) noexcept {
  const auto deadline = Clock::now() + at_most;
  bool told = false;
  for (int looks = 0; Clock::now() < deadline; ++looks) {
    {
      std::lock_guard lock(mutex_);
      bool all = true;
      try {
        if (!std::exchange(told, true)) tell_all(Word::over, "");
        hear();
        all = endpoint_->done(telling_);
      } catch (const std::exception&) {
        return;
      }
      for (int r = 0; r < size_; ++r) all = all && (r == rank_ || over_[r] || left_[r]);
      if (all) return;
    }
    pause(looks, false);
  }
}

c10::intrusive_ptr<c10d::Backend> MpiBackend::spare() {
  std::lock_guard lock(mutex_);  // duplicating waits for the others inside MPI: nobody else may call meanwhile
  ProcessBackendOptions options;
  options.timeout = timeout_;
  return c10::make_intrusive<MpiBackend>(std::make_unique<Endpoint>(*endpoint_), options);
}

void MpiBackend::leave() {
  if (peers_) peers_->drain();
  const auto deadline = Clock::now() + timeout_;
  {
    std::lock_guard lock(mutex_);
    if (finalized_) return;
    if (!first_cause_.empty()) throw PeerError(first_cause_);
    tell_all(Word::left, "");
    left_[rank_] = true;
  }
  for (int looks = 0;; ++looks) {
    {
      std::lock_guard lock(mutex_);
      progress();
      if (!first_cause_.empty()) throw PeerError(first_cause_);
      if (std::ranges::all_of(left_, [](bool b) { return b; }) && endpoint_->done(telling_) && open_.empty()) break;
      if (Clock::now() > deadline) {
        std::string absent;
        for (int r = 0; r < size_; ++r)
          if (!left_[r]) absent += (absent.empty() ? "" : ", ") + std::to_string(r);
        give_up("no answer within " + std::to_string(timeout_.count()) + " ms: " + rank_text(rank_) +
                " is done and waits for rank " + absent);
        throw PeerError(first_cause_);
      }
    }
    pause(looks, false);
  }
  std::lock_guard lock(mutex_);
  if (size_ > 1) MPI_Cancel(&hearing_), MPI_Wait(&hearing_, MPI_STATUS_IGNORE);
  finalized_ = true;
  peers_.reset();
  endpoint_->finalize();
}

}  // namespace cpize::comm::mpi
