// Traffic: what one rank has sent, counted where it is packed, the same for every backend.
#pragma once
#include <atomic>
#include <cstdint>

namespace cpize {

/// Counters of one rank. Bytes to oneself do not count. An all-reduce of n bytes counts as 2 n (P - 1) / P, what a ring
/// sends. Atomic, since the autograd engine may run a node on another thread.
struct Traffic {
  std::atomic<std::int64_t> sent_bytes{0};
  std::atomic<std::int64_t> collectives{0};

  void count(std::int64_t bytes) {
    sent_bytes += bytes;
    ++collectives;
  }
};

}  // namespace cpize
