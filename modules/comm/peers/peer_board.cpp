#include "comm/peers/peer_board.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "error/error.hpp"

namespace cpize::comm::peers {
namespace {

/// Differs between machines, and between boots of one.
std::string machine() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

}  // namespace

struct PeerBoard::Rank {
  struct Slot {
    std::atomic<std::uint64_t> number;
    PeerNotice notice;
  };
  std::array<Slot, kDepth> slots;
  std::array<std::atomic<std::uint64_t>, PeerNotice::kMostRanks> taken;  // of this rank's notices, by reader
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share it");

std::string first_objection(const ProcessStore& met, const std::string& key, int rank, int size,
                            const std::string& objection) {
  met.put(key + "/" + std::to_string(rank), objection.empty() ? "-" : objection);
  std::string first;
  for (int r = 0; r < size; ++r) {
    const std::string said = met.get(key + "/" + std::to_string(r));
    if (first.empty() && said != "-") first = "rank " + std::to_string(r) + ": " + said;
  }
  return first;
}

PeerBoard PeerBoard::join(const ProcessStore& met, const std::string& prefix, int rank, int size, std::string& why) {
  if (size > PeerNotice::kMostRanks) {
    why = "more than " + std::to_string(PeerNotice::kMostRanks) + " ranks";
    return {};
  }
  const std::size_t length = sizeof(Rank) * static_cast<std::size_t>(size);
  std::string name = "/cpize-" + std::to_string(getpid()) + "-" +
                     std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
  if (rank == 0) {
    met.put(prefix + "/name", machine() + " " + name);
  } else {
    const std::string said = met.get(prefix + "/name");
    name = said.substr(said.find(' ') + 1);
    if (said.substr(0, said.find(' ')) != machine()) name.clear();
  }

  PeerBoard board;
  std::string objection = name.empty() ? "is on another machine than rank 0" : "";
  const auto open = [&] {
    const int file = shm_open(name.c_str(), rank == 0 ? O_CREAT | O_EXCL | O_RDWR : O_RDWR, 0600);
    if (file < 0 || (rank == 0 && ftruncate(file, static_cast<off_t>(length)) != 0)) {
      objection = std::string("shared memory: ") + std::strerror(errno);
    } else {
      // Written pages are counted where the memory is small (containers): better an objection here than a signal later.
      if (rank == 0 && posix_fallocate(file, 0, static_cast<off_t>(length)) != 0) objection = "shared memory is full";
      void* memory = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (memory == MAP_FAILED)
        objection = std::string("shared memory: ") + std::strerror(errno);
      else
        board.ranks_ = static_cast<Rank*>(memory);  // zeros, which is an empty board
    }
    if (file >= 0) close(file);
  };
  if (rank == 0) open();
  const std::string made = first_objection(met, prefix + "/made", rank, size, objection);
  if (rank != 0 && objection.empty() && made.empty()) open();
  const std::string opened = first_objection(met, prefix + "/open", rank, size, objection);
  if (rank == 0) shm_unlink(name.c_str());

  board.rank_ = rank;
  board.size_ = size;
  why = !made.empty() ? made : opened;
  return why.empty() ? std::move(board) : PeerBoard();
}

PeerBoard::PeerBoard(PeerBoard&& other) noexcept { *this = std::move(other); }
PeerBoard& PeerBoard::operator=(PeerBoard&& other) noexcept {
  std::swap(ranks_, other.ranks_);
  std::swap(rank_, other.rank_);
  std::swap(size_, other.size_);
  return *this;
}
PeerBoard::~PeerBoard() {
  if (ranks_ != nullptr) munmap(ranks_, sizeof(Rank) * static_cast<std::size_t>(size_));
}

bool PeerBoard::room(std::uint64_t number) const {
  for (int r = 0; r < size_; ++r)
    if (r != rank_ && ranks_[rank_].taken[r].load(std::memory_order_acquire) + kDepth < number) return false;
  return true;
}

void PeerBoard::post(std::uint64_t number, const PeerNotice& notice) {
  if (!room(number)) throw ContractError("peer board: notice " + std::to_string(number) + " has no room yet");
  Rank::Slot& slot = ranks_[rank_].slots[number % kDepth];
  slot.notice = notice;
  slot.number.store(number, std::memory_order_release);
}

const PeerNotice* PeerBoard::look(int rank, std::uint64_t number) const {
  const Rank::Slot& slot = ranks_[rank].slots[number % kDepth];
  return slot.number.load(std::memory_order_acquire) == number ? &slot.notice : nullptr;
}

void PeerBoard::take(int rank, std::uint64_t number) {
  ranks_[rank].taken[rank_].store(number, std::memory_order_release);
}

}  // namespace cpize::comm::peers
