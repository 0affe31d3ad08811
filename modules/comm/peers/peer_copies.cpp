#include "comm/peers/peer_copies.hpp"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/record_function.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "comm/call_site.hpp"
#include "comm/peers/peer_board.hpp"
#include "comm/peers/shared_pool.hpp"
#include "comm/peers/stream_flags.hpp"
#include "comm/peers/strided_copy.hpp"
#include "error/error.hpp"

namespace cpize::comm::peers {
namespace {

bool empty(const at::Tensor& t) { return !t.defined() || t.numel() == 0; }

std::int64_t bytes_of(const PeerPiece& piece) {
  std::int64_t bytes = piece.dims == 0 ? 0 : piece.element_bytes;
  for (int d = 0; d < piece.dims; ++d) bytes *= piece.sizes[d];
  return bytes;
}

/// A stream for the copies from one peer, and the peer's flags as this process sees them.
struct Peer {
  at::cuda::CUDAStream stream;
  char* flags = nullptr;
  std::map<MemoryName, char*> opened;
};

/// One exchange of this rank.
struct Exchange {
  std::uint64_t number = 0;
  std::string site;
  std::vector<at::Tensor> outputs, inputs;
  at::cuda::CUDAEvent posted;
  std::vector<at::cuda::CUDAEvent> copied;  // by peer
  std::vector<int> receives_from, sends_to;
  int next = 0;  // the first peer whose copies are not enqueued
};

/// What went wrong while `f`, which returns an objection itself, ran: told to all ranks, so that none waits for this
/// one.
template <class F>
std::string objection_of(F f) {
  try {
    return f();
  } catch (const c10::Error& e) {
    return e.what_without_backtrace();
  } catch (const std::exception& e) {
    return e.what();
  }
}

class Engines : public PeerCopies, public std::enable_shared_from_this<Engines> {
 public:
  Engines(int rank, int size, at::Device gpu, PeerCopiesOptions options)
      : rank_(rank), size_(size), gpu_(gpu), options_(std::move(options)) {}

  ~Engines() override {
    for (auto& peer : peers_) {
      for (const auto& [name, memory] : peer.opened) cudaIpcCloseMemHandle(memory);
      if (peer.flags) cudaIpcCloseMemHandle(peer.flags);
    }
    if (flags_) cudaFree(flags_);
  }

  std::string start(const ProcessStore& met) {
    at::globalContext().lazyInitDevice(at::kCUDA);  // the pool asks the allocator before any tensor is made
    const c10::cuda::CUDAGuard guard(gpu_);
    std::string why;
    board_ = PeerBoard::join(met, "peers/board", rank_, size_, why);
    if (!board_) return why;

    Offer offer;
    const std::string objection = objection_of([&] { return make_memory(offer); });
    const auto say = [&](const char* key, const std::string& value) {
      met.put(std::string(key) + "/" + std::to_string(rank_), value);
    };
    say("peers/flags", {offer.flags.begin(), offer.flags.end()});
    say("peers/memory", {offer.memory.begin(), offer.memory.end()});
    say("peers/offset", std::to_string(offer.offset));
    why = first_objection(met, "peers/named", rank_, size_, objection);
    if (!why.empty()) return why;
    return first_objection(met, "peers/opened", rank_, size_, objection_of([&] { return open_peers(met); }));
  }

  bool takes(c10::DeviceIndex device) const override {
    return device == gpu_.index() &&
           c10::cuda::currentStreamCaptureStatusMayInitCtx() == c10::cuda::CaptureStatus::None;
  }

  at::Tensor allocate(at::IntArrayRef sizes, const at::TensorOptions& options) override {
    return pool_->allocate(sizes, options);
  }

  c10::intrusive_ptr<c10d::Work> alltoall(std::vector<at::Tensor> outputs, std::vector<at::Tensor> inputs) override;

  c10::intrusive_ptr<c10d::Work> alltoall_base(const at::Tensor& output, const at::Tensor& input,
                                               at::IntArrayRef output_splits, at::IntArrayRef input_splits) override {
    const auto cut = [](const at::Tensor& t, at::IntArrayRef splits) {
      std::vector<at::Tensor> pieces;
      std::int64_t begin = 0;
      for (const auto count : splits) {
        pieces.push_back(t.narrow(0, begin, count));
        begin += count;
      }
      return pieces;
    };
    return alltoall(cut(output, output_splits), cut(input, input_splits));
  }

  void drain() override {
    const c10::cuda::CUDAGuard guard(gpu_);
    const std::lock_guard lock(mutex_);
    std::vector<at::cuda::CUDAEvent> ends(peers_.size() + 1);
    for (std::size_t q = 0; q < peers_.size(); ++q) ends[q].record(peers_[q].stream);
    ends.back().record(at::cuda::getCurrentCUDAStream(gpu_.index()));
    wait_until([&] { return std::ranges::all_of(ends, [](auto& e) { return e.query(); }); },
               [] { return std::string("its copies to end"); }, {});
  }

  /// Everything that `wait` of this exchange promises.
  void finish(const std::shared_ptr<Exchange>& exchange) {
    const c10::cuda::CUDAGuard guard(gpu_);
    const std::lock_guard lock(mutex_);
    wait_until([&] { return exchange->next == size_; }, [&] { return others_at(*exchange); }, options_.absence);
    const auto stream = at::cuda::getCurrentCUDAStream(gpu_.index());
    for (const int q : exchange->receives_from) exchange->copied[q].block(stream);
    for (const int q : exchange->sends_to) stream_flags_.wait_for(stream, flags_ + has_flag(q), exchange->number);
    exchange->outputs.clear();
    exchange->inputs.clear();
  }

 private:
  static constexpr std::int64_t kLine = 128;  // a flag has a line of memory for itself
  static constexpr std::size_t kFlagsBytes = 2 * kLine * PeerNotice::kMostRanks;
  static constexpr std::int64_t ready_flag(int q) { return kLine * q; }
  static constexpr std::int64_t has_flag(int q) { return kLine * (PeerNotice::kMostRanks + q); }

  /// What the peers open, and try out, at the start.
  struct Offer {
    MemoryName flags{}, memory{};
    at::Tensor trial;  // lies in the memory at the offset, and holds this rank's number
    std::int64_t offset = 0;
  };

  /// Flags, and some memory of the pool that tries out what will be done with it. Returns an objection.
  std::string make_memory(Offer& offer) {
    if (!stream_flags_.open()) return "the driver has no stream memory operations";
    C10_CUDA_CHECK(cudaMalloc(&flags_, kFlagsBytes));
    C10_CUDA_CHECK(cudaMemset(flags_, 0, kFlagsBytes));
    if (const std::string objection = name_memory(flags_, offer.flags); !objection.empty()) return objection;
    pool_.emplace(gpu_);
    offer.trial = allocate({1 << 20}, at::TensorOptions(gpu_).dtype(at::kByte));
    offer.trial.fill_(rank_);
    C10_CUDA_CHECK(cudaDeviceSynchronize());
    const SharedAllocation& holder = *pool_->holder_of(offer.trial);
    offer.memory = holder.name;
    offer.offset = static_cast<char*>(offer.trial.data_ptr()) - holder.begin;
    return "";
  }

  /// Opens the flags and the trial memory of all others, and reads there. Returns an objection.
  std::string open_peers(const ProcessStore& met) {
    const auto name_from = [&](const char* key, int rank) {
      const std::string text = met.get(std::string(key) + "/" + std::to_string(rank));
      MemoryName name{};
      std::copy_n(text.begin(), std::min(text.size(), name.size()), name.begin());
      return name;
    };
    for (int q = 0; q < size_; ++q) peers_.push_back({at::cuda::getStreamFromPool(true, gpu_.index()), nullptr, {}});
    for (int q = 0; q < size_; ++q) {
      if (q == rank_) continue;
      std::string objection = open_memory(name_from("peers/flags", q), peers_[q].flags);
      if (!objection.empty()) return objection;
      const MemoryName trial = name_from("peers/memory", q);
      char*& memory = peers_[q].opened[trial];
      objection = open_memory(trial, memory);
      if (!objection.empty()) return objection;
      unsigned char value = 255;
      const auto offset = std::stoull(met.get("peers/offset/" + std::to_string(q)));
      const cudaError_t error = cudaMemcpy(&value, memory + offset, 1, cudaMemcpyDefault);
      if (error != cudaSuccess) return "reading the memory of rank " + std::to_string(q) + ": " + error_text(error);
      if (value != q) return "the memory of rank " + std::to_string(q) + " reads wrong";
    }
    return "";
  }

  bool enqueue_next(Exchange& exchange);
  template <class Done, class What>
  void wait_until(Done done, What what, const std::function<std::string()>& absence);
  std::string others_at(const Exchange& exchange) const;
  void copy_from(int q, Exchange& exchange, const MemoryName& name, const PeerPiece& piece);

  const int rank_, size_;
  const at::Device gpu_;
  const PeerCopiesOptions options_;
  StreamFlags stream_flags_;
  PeerBoard board_;
  std::optional<SharedPool> pool_;
  char* flags_ = nullptr;
  std::mutex mutex_;
  std::vector<Peer> peers_;
  std::uint64_t number_ = 0;
  std::deque<std::shared_ptr<Exchange>> under_way_;  // not all enqueued
};

class PeerWork : public c10d::Work {
 public:
  PeerWork(std::shared_ptr<Engines> engines, std::shared_ptr<Exchange> exchange)
      : engines_(std::move(engines)), exchange_(std::move(exchange)) {}
  ~PeerWork() override {
    if (std::uncaught_exceptions() > 0) {  // this rank fails: do not wait for others, and leave them the memory
      if (exchange_) new std::shared_ptr<Exchange>(std::move(exchange_));
      return;
    }
    try {
      wait();                          // its memory is held until then
    } catch (const std::exception&) {  // whoever waits for anything else hears of it
    }
  }
  bool wait(std::chrono::milliseconds = kNoTimeout) override {
    if (const auto exchange = std::exchange(exchange_, {})) engines_->finish(exchange);
    return true;
  }

 private:
  std::shared_ptr<Engines> engines_;
  std::shared_ptr<Exchange> exchange_;
};

c10::intrusive_ptr<c10d::Work> Engines::alltoall(std::vector<at::Tensor> outputs, std::vector<at::Tensor> inputs) {
  const c10::cuda::CUDAGuard guard(gpu_);
  auto exchange = std::make_shared<Exchange>();
  PeerNotice notice;
  for (int q = 0; q < size_; ++q) {
    at::Tensor& t = inputs[q];
    if (q == rank_ || empty(t)) continue;
    if (t.dim() > PeerPiece::kMostDims) t = t.contiguous().flatten();
    const SharedAllocation* memory = pool_->holder_of(t);
    if (memory == nullptr) {
      RECORD_USER_SCOPE("exchange.pack");
      at::Tensor copy = allocate(t.sizes(), t.options());
      copy.copy_(t);
      t = copy;
      memory = pool_->holder_of(t);
    }
    notice.memory[q] = memory->name;
    PeerPiece& piece = notice.pieces[q];
    piece.offset = static_cast<char*>(t.data_ptr()) - memory->begin;
    piece.element_bytes = static_cast<std::int64_t>(t.element_size());
    piece.dims = t.dim();
    std::copy_n(t.sizes().begin(), t.dim(), piece.sizes.begin());
    std::copy_n(t.strides().begin(), t.dim(), piece.strides.begin());
    exchange->sends_to.push_back(q);
  }
  if (!empty(outputs[rank_])) outputs[rank_].copy_(inputs[rank_].view_as(outputs[rank_]));

  const std::lock_guard lock(mutex_);
  exchange->number = ++number_;
  exchange->site = CallSite::current();
  exchange->outputs = std::move(outputs);
  exchange->inputs = std::move(inputs);
  exchange->copied.resize(size_);
  wait_until([&] { return board_.room(number_); }, [&] { return others_at(*exchange); }, options_.absence);
  const auto stream = at::cuda::getCurrentCUDAStream(gpu_.index());
  exchange->posted.record(stream);
  for (const int q : exchange->sends_to) stream_flags_.write(stream, peers_[q].flags + ready_flag(rank_), number_);
  board_.post(number_, notice);
  under_way_.push_back(exchange);
  while (!under_way_.empty() && enqueue_next(*under_way_.front())) {
  }
  return c10::make_intrusive<PeerWork>(shared_from_this(), exchange);
}

/// The copies from one more peer, if its host has posted; false if it has not. A finished exchange leaves the queue.
bool Engines::enqueue_next(Exchange& exchange) {
  if (exchange.next == rank_) ++exchange.next;
  if (exchange.next < size_) {
    const int q = exchange.next;
    const PeerNotice* notice = board_.look(q, exchange.number);
    if (notice == nullptr) return false;
    copy_from(q, exchange, notice->memory[rank_], notice->pieces[rank_]);
    board_.take(q, exchange.number);
    ++exchange.next;
    if (exchange.next == rank_) ++exchange.next;
  }
  if (exchange.next >= size_) {
    exchange.next = size_;
    under_way_.pop_front();
  }
  return true;
}

/// Enqueues copies, as peers post, until `done`. A cause counts only if nothing was to be enqueued after it was known:
/// a rank may post, and return, between two looks.
template <class Done, class What>
void Engines::wait_until(Done done, What what, const std::function<std::string()>& absence) {
  const auto begin = std::chrono::steady_clock::now();
  std::string cause;
  for (std::int64_t round = 0; !done(); ++round) {
    if (!under_way_.empty() && enqueue_next(*under_way_.front())) {
      cause.clear();
      continue;
    }
    if (!cause.empty()) throw PeerError(cause);
    if (round % 1024 != 1023) continue;
    if (options_.failure) cause = options_.failure();
    if (cause.empty() && absence) cause = absence();
    if (std::chrono::steady_clock::now() - begin > options_.timeout)
      throw PeerError("rank " + std::to_string(rank_) + " waited " + std::to_string(options_.timeout.count() / 1000) +
                      " s for " + what());
    std::this_thread::yield();
  }
}

/// Whom an exchange waits for: the first one whose notice is not there.
std::string Engines::others_at(const Exchange& exchange) const {
  const int next = under_way_.empty() ? size_ : under_way_.front()->next;
  return (next < size_ ? "rank " + std::to_string(next) : std::string("the other ranks")) + " to come to exchange " +
         std::to_string(exchange.number) + (exchange.site.empty() ? "" : " (" + exchange.site + ")");
}

void Engines::copy_from(int q, Exchange& exchange, const MemoryName& name, const PeerPiece& piece) {
  at::Tensor out = exchange.outputs[q];
  const std::int64_t wanted = empty(out) ? 0 : static_cast<std::int64_t>(out.nbytes());
  if (bytes_of(piece) != wanted)
    throw PeerError("collective mismatch (sizes): rank " + std::to_string(q) + " sends " +
                    std::to_string(bytes_of(piece)) + " bytes to rank " + std::to_string(rank_) + ", which expects " +
                    std::to_string(wanted) + ", in exchange " + std::to_string(exchange.number) +
                    (exchange.site.empty() ? "" : " (" + exchange.site + ")"));
  if (wanted == 0) return;
  Peer& peer = peers_[q];
  char*& memory = peer.opened[name];  // null at first
  if (memory == nullptr)
    if (const std::string objection = open_memory(name, memory); !objection.empty())
      throw ResourceError("peer copies: rank " + std::to_string(q) + ": " + objection);

  // Where the two count their elements by other dimensions, one of them is contiguous (or the other way round nobody
  // could know which belongs where).
  std::vector<std::int64_t> sizes(piece.sizes.begin(), piece.sizes.begin() + piece.dims);
  std::vector<std::int64_t> from(piece.strides.begin(), piece.strides.begin() + piece.dims);
  if (at::IntArrayRef(sizes) != out.sizes()) {
    if (out.is_contiguous()) {
      out = out.view(sizes);
    } else {
      const at::Tensor shape = at::empty_strided(sizes, from, at::TensorOptions(at::kMeta).dtype(at::kByte));
      if (!shape.is_contiguous())
        throw ContractError("peer copies: pieces of other dimensions, and neither is contiguous");
      sizes = out.sizes().vec();
      from = at::empty(sizes, at::TensorOptions(at::kMeta).dtype(at::kByte)).strides().vec();
    }
  }
  const CopyShape shape =
      CopyShape::of(sizes.data(), out.strides().data(), from.data(), sizes.size(), piece.element_bytes);
  exchange.posted.block(peer.stream);
  stream_flags_.wait_for(peer.stream, flags_ + ready_flag(q), exchange.number);
  copy_strided(static_cast<char*>(out.data_ptr()), memory + piece.offset, shape, peer.stream);
  stream_flags_.write(peer.stream, peer.flags + has_flag(rank_), exchange.number);
  exchange.copied[q].record(peer.stream);
  exchange.receives_from.push_back(q);
}

}  // namespace

std::shared_ptr<PeerCopies> PeerCopies::join(const ProcessStore& met, int rank, int size, at::Device gpu,
                                             const PeerCopiesOptions& options, std::string& why) {
  auto engines = std::make_shared<Engines>(rank, size, gpu, options);
  why = engines->start(met);
  return why.empty() ? engines : nullptr;
}

}  // namespace cpize::comm::peers
