// PeerBoard: host memory that the ranks of one machine share, where each says what the others may copy from it.
//
// A rank writes one notice for each of its exchanges, numbered 1, 2, ..; every other rank looks at it and then takes
// it. Notices lie in a ring, so a rank may be kDepth exchanges ahead of the slowest reader. Lock-free, any number of
// processes; within a process one thread at a time. The memory has a name only while ranks come together: whatever
// happens later, nothing is left behind.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "comm/process_store.hpp"

namespace cpize::comm::peers {

/// A strided piece of memory of another process: `memory` names an allocation, the rest is in bytes from its start.
struct PeerPiece {
  static constexpr int kMostDims = 6;
  std::int64_t offset = 0, element_bytes = 0;
  std::int64_t dims = 0;                                   // 0: nothing
  std::array<std::int64_t, kMostDims> sizes{}, strides{};  // in elements
};

/// The name of an allocation of a GPU between processes, as the driver gives it.
using MemoryName = std::array<char, 64>;

struct PeerNotice {
  static constexpr int kMostRanks = 16;
  std::array<MemoryName, kMostRanks> memory{};  // by receiver
  std::array<PeerPiece, kMostRanks> pieces{};
};

class PeerBoard {
 public:
  static constexpr std::uint64_t kDepth = 32;

  /// A collective over the store. `why` says why there is none: a rank on another machine, or no shared memory. All
  /// ranks agree. `prefix` is of this board alone.
  static PeerBoard join(const ProcessStore& met, const std::string& prefix, int rank, int size, std::string& why);
  PeerBoard() = default;
  PeerBoard(PeerBoard&& other) noexcept;
  PeerBoard& operator=(PeerBoard&& other) noexcept;
  ~PeerBoard();
  explicit operator bool() const { return ranks_ != nullptr; }

  /// Is there room for this rank's notice `number`?
  bool room(std::uint64_t number) const;
  void post(std::uint64_t number, const PeerNotice& notice);
  /// Null until `rank` has posted it.
  const PeerNotice* look(int rank, std::uint64_t number) const;
  /// This rank needs that notice no more. In order.
  void take(int rank, std::uint64_t number);

 private:
  struct Rank;
  Rank* ranks_ = nullptr;
  int rank_ = 0, size_ = 0;
};

/// All ranks bring "" or a reason against; returns the first reason of the lowest rank, on all. A collective over the
/// store, under a key of its own.
std::string first_objection(const ProcessStore& met, const std::string& key, int rank, int size,
                            const std::string& objection);

}  // namespace cpize::comm::peers
