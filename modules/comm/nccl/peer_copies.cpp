#include "comm/nccl/peer_copies.hpp"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/MemPool.h>
#include <ATen/record_function.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <cudaTypedefs.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "comm/call_site.hpp"
#include "comm/nccl/strided_copy.hpp"
#include "comm/peer_board.hpp"
#include "error/error.hpp"

namespace cpize::comm::nccl {
namespace {

/// What the runtime has no name for.
struct Driver {
  PFN_cuStreamWriteValue32_v11070 write = nullptr;
  PFN_cuStreamWaitValue32_v11070 wait = nullptr;
  PFN_cuMemGetAddressRange_v3020 range = nullptr;

  bool open() {
    const auto find = [](const char* name, auto& function, unsigned version) {
      cudaDriverEntryPointQueryResult found{};
      void* address = nullptr;
      const bool ok =
          cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &found) == cudaSuccess &&
          found == cudaDriverEntryPointSuccess;
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
      return ok && address != nullptr;
    };
    return find("cuStreamWriteValue32", write, 12000) && find("cuStreamWaitValue32", wait, 12000) &&
           find("cuMemGetAddressRange", range, 3020);
  }
  std::pair<char*, std::size_t> allocation_of(const void* pointer) const {
    CUdeviceptr base = 0;
    std::size_t size = 0;
    TORCH_CHECK(range(&base, &size, reinterpret_cast<CUdeviceptr>(pointer)) == CUDA_SUCCESS, "cuMemGetAddressRange");
    return {reinterpret_cast<char*>(base), size};
  }
};

std::string error_text(cudaError_t error) {
  cudaGetLastError();  // it is no longer pending
  return cudaGetErrorString(error);
}

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

    // Names of the flags, then of some memory of the pool, which tries out what will be done with it.
    std::string objection;
    MemoryName own_flags{}, own_memory{};
    std::size_t offset = 0;
    if (!driver_.open()) objection = "the driver has no stream memory operations";
    if (objection.empty()) {
      C10_CUDA_CHECK(cudaMalloc(&flags_, kFlagsBytes));
      C10_CUDA_CHECK(cudaMemset(flags_, 0, kFlagsBytes));
      objection = name_of(flags_, own_flags);
    }
    pool_.emplace();
    at::Tensor trial;
    if (objection.empty()) {
      trial = allocate({1 << 20}, at::TensorOptions(gpu_).dtype(at::kByte));
      trial.fill_(rank_);
      C10_CUDA_CHECK(cudaDeviceSynchronize());
      const auto [base, size] = driver_.allocation_of(trial.data_ptr());
      offset = static_cast<std::size_t>(static_cast<char*>(trial.data_ptr()) - base);
      objection = name_of(base, own_memory);
    }
    put(met, "peers/flags", own_flags);
    put(met, "peers/memory", own_memory);
    const std::string place = std::to_string(offset);
    met.store->set("peers/offset/" + std::to_string(rank_), std::vector<std::uint8_t>(place.begin(), place.end()));
    why = first_objection(met, "peers/named", rank_, size_, objection);
    if (!why.empty()) return why;

    for (int q = 0; q < size_; ++q) peers_.push_back({at::cuda::getStreamFromPool(true, gpu_.index()), nullptr, {}});
    for (int q = 0; q < size_ && objection.empty(); ++q) {
      if (q == rank_) continue;
      objection = open(get(met, "peers/flags", q), peers_[q].flags);
      char* memory = nullptr;
      if (objection.empty()) objection = open(get(met, "peers/memory", q), memory);
      if (!objection.empty()) continue;
      unsigned char value = 255;
      const auto place = met.store->get("peers/offset/" + std::to_string(q));
      const cudaError_t error =
          cudaMemcpy(&value, memory + std::stoull(std::string(place.begin(), place.end())), 1, cudaMemcpyDefault);
      if (error != cudaSuccess)
        objection = "reading the memory of rank " + std::to_string(q) + ": " + error_text(error);
      else if (value != q)
        objection = "the memory of rank " + std::to_string(q) + " reads wrong";
      if (memory) peers_[q].opened[get(met, "peers/memory", q)] = memory;
    }
    return first_objection(met, "peers/opened", rank_, size_, objection);
  }

  at::Tensor allocate(at::IntArrayRef sizes, const at::TensorOptions& options) override {
    namespace allocator = c10::cuda::CUDACachingAllocator;
    const c10::cuda::CUDAGuard guard(gpu_);
    const auto here = std::this_thread::get_id();
    allocator::beginAllocateToPool(gpu_.index(), pool_->id(),
                                   [here](cudaStream_t) { return std::this_thread::get_id() == here; });
    at::Tensor memory;
    try {
      memory = at::empty(sizes, options.device(gpu_));
    } catch (...) {
      allocator::endAllocateToPool(gpu_.index(), pool_->id());
      throw;
    }
    allocator::endAllocateToPool(gpu_.index(), pool_->id());
    if (memory.numel() > 0) {
      const auto [base, size] = driver_.allocation_of(memory.data_ptr());
      const std::lock_guard lock(mutex_);
      if (!named_.contains(base)) {
        const std::string objection = name_of(base, named_[base]);
        if (!objection.empty()) throw ResourceError("peer copies: memory cannot be shared: " + objection);
      }
    }
    return memory;
  }

  c10::intrusive_ptr<c10d::Work> alltoall(std::vector<at::Tensor> outputs, std::vector<at::Tensor> inputs) override;

  /// Everything that `wait` of this exchange promises.
  void finish(const std::shared_ptr<Exchange>& exchange) {
    const c10::cuda::CUDAGuard guard(gpu_);
    const std::lock_guard lock(mutex_);
    enqueue_until([&] { return exchange->next == size_; }, *exchange);
    const auto stream = at::cuda::getCurrentCUDAStream(gpu_.index());
    for (const int q : exchange->receives_from) exchange->copied[q].block(stream);
    for (const int q : exchange->sends_to) wait_for(stream, flags_ + has_flag(q), exchange->number);
    exchange->outputs.clear();
    exchange->inputs.clear();
  }

 private:
  static constexpr std::int64_t kLine = 128;  // a flag has a line of memory for itself
  static constexpr std::size_t kFlagsBytes = 2 * kLine * PeerNotice::kMostRanks;
  static constexpr std::int64_t ready_flag(int q) { return kLine * q; }
  static constexpr std::int64_t has_flag(int q) { return kLine * (PeerNotice::kMostRanks + q); }

  void put(const ProcessStore& met, const std::string& key, const MemoryName& name) const {
    met.store->set(key + "/" + std::to_string(rank_), std::vector<std::uint8_t>(name.begin(), name.end()));
  }
  static MemoryName get(const ProcessStore& met, const std::string& key, int rank) {
    const auto bytes = met.store->get(key + "/" + std::to_string(rank));
    MemoryName name{};
    std::copy_n(bytes.begin(), std::min(bytes.size(), name.size()), name.begin());
    return name;
  }

  static std::string name_of(void* base, MemoryName& name) {
    cudaIpcMemHandle_t handle;
    static_assert(sizeof handle == sizeof name);
    const cudaError_t error = cudaIpcGetMemHandle(&handle, base);
    if (error != cudaSuccess) return "naming memory for other processes: " + error_text(error);
    std::copy_n(reinterpret_cast<const char*>(&handle), sizeof handle, name.begin());
    return "";
  }
  static std::string open(const MemoryName& name, char*& memory) {
    cudaIpcMemHandle_t handle;
    std::copy_n(name.begin(), sizeof handle, reinterpret_cast<char*>(&handle));
    void* address = nullptr;
    const cudaError_t error = cudaIpcOpenMemHandle(&address, handle, cudaIpcMemLazyEnablePeerAccess);
    memory = static_cast<char*>(address);
    return error == cudaSuccess ? "" : "opening the memory of another process: " + error_text(error);
  }

  void write(cudaStream_t stream, char* flag, std::uint64_t number) const {
    TORCH_CHECK(driver_.write(stream, reinterpret_cast<CUdeviceptr>(flag), static_cast<cuuint32_t>(number),
                              CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS,
                "cuStreamWriteValue32 failed");
  }
  /// Until the flag has reached `number`; 32 bits that may wrap around.
  void wait_for(cudaStream_t stream, char* flag, std::uint64_t number) const {
    TORCH_CHECK(driver_.wait(stream, reinterpret_cast<CUdeviceptr>(flag), static_cast<cuuint32_t>(number),
                             CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS,
                "cuStreamWaitValue32 failed");
  }

  /// The allocation of the pool that holds `t`, or null.
  const std::pair<char* const, MemoryName>* shared_memory(const at::Tensor& t) const {
    const auto* pointer = static_cast<char*>(t.data_ptr());
    auto after = std::upper_bound(named_.begin(), named_.end(), pointer,
                                  [](const char* p, const auto& memory) { return p < memory.first; });
    if (after == named_.begin()) return nullptr;
    const auto& memory = *std::prev(after);
    const auto [base, size] = driver_.allocation_of(memory.first);
    return pointer < base + size ? &memory : nullptr;
  }

  bool enqueue_next(Exchange& exchange);
  template <class Done>
  void enqueue_until(Done done, const Exchange& waiting);
  void copy_from(int q, Exchange& exchange, const MemoryName& name, const PeerPiece& piece);

  const int rank_, size_;
  const at::Device gpu_;
  const PeerCopiesOptions options_;
  Driver driver_;
  PeerBoard board_;
  std::optional<at::cuda::MemPool> pool_;
  std::mutex mutex_;
  std::map<char*, MemoryName> named_;  // allocations of the pool, by their start
  char* flags_ = nullptr;
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
    const auto* memory = [&] {
      const std::lock_guard lock(mutex_);
      return shared_memory(t);
    }();
    if (memory == nullptr) {
      RECORD_USER_SCOPE("exchange.pack");
      at::Tensor copy = allocate(t.sizes(), t.options());
      copy.copy_(t);
      t = copy;
      const std::lock_guard lock(mutex_);
      memory = shared_memory(t);
    }
    notice.memory[q] = memory->second;
    PeerPiece& piece = notice.pieces[q];
    piece.offset = static_cast<char*>(t.data_ptr()) - memory->first;
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
  enqueue_until([&] { return board_.room(number_); }, *exchange);
  const auto stream = at::cuda::getCurrentCUDAStream(gpu_.index());
  exchange->posted.record(stream);
  for (const int q : exchange->sends_to) write(stream, peers_[q].flags + ready_flag(rank_), number_);
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

template <class Done>
void Engines::enqueue_until(Done done, const Exchange& waiting) {
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t round = 0; !done(); ++round) {
    if (!under_way_.empty() && enqueue_next(*under_way_.front())) continue;
    if (round % 1024 != 1023) continue;
    if (options_.failure)
      if (const std::string cause = options_.failure(); !cause.empty()) throw PeerError(cause);
    if (std::chrono::steady_clock::now() - begin > options_.timeout)
      throw PeerError("rank " + std::to_string(rank_) + " waited " + std::to_string(options_.timeout.count() / 1000) +
                      " s for the other ranks to come to exchange " + std::to_string(waiting.number) +
                      (waiting.site.empty() ? "" : " (" + waiting.site + ")"));
    std::this_thread::yield();
  }
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
    if (const std::string objection = open(name, memory); !objection.empty())
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
  wait_for(peer.stream, flags_ + ready_flag(q), exchange.number);
  copy_strided(static_cast<char*>(out.data_ptr()), memory + piece.offset, shape, peer.stream);
  write(peer.stream, peer.flags + has_flag(rank_), exchange.number);
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

}  // namespace cpize::comm::nccl
