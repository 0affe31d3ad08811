// Rendezvous: where the rank threads of one world meet. The n-th operation of every rank is one collective.
//
// It never hangs on a mistake: ranks that bring different operations, a rank that returned or threw, and a rank that
// does not come within the timeout all become a PeerError on every rank that waits, naming both sides.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/posted_operation.hpp"

namespace cpize::comm {

class Rendezvous {
 public:
  Rendezvous(int ranks, std::chrono::milliseconds timeout);

  /// One collective: what each rank posted, and how it ended.
  struct Meeting {
    std::vector<std::optional<PostedOperation>> posted;
    int arrived = 0;
    bool done = false;
    std::string error;
  };

  /// Rank `rank` brings its operation number `sequence`. The last to arrive checks and executes all of them.
  std::shared_ptr<Meeting> post(int rank, std::uint64_t sequence, PostedOperation operation);

  /// Blocks until the meeting is over and releases this rank's tensors; throws PeerError if it cannot succeed.
  void wait(Meeting& meeting, int rank);

  /// Rank `rank` will not come any more: it returned (`error` empty) or failed with `error`.
  void leave(int rank, const std::string& error);

  int ranks() const { return ranks_; }
  /// Bytes that this rank handed to others in all-to-alls: an independent count, for checking Traffic.
  std::int64_t bytes_moved(int rank) const;

 private:
  void execute(Meeting& meeting);
  std::string why_it_cannot_end(const Meeting& meeting, int rank) const;

  const int ranks_;
  const std::chrono::milliseconds timeout_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, std::shared_ptr<Meeting>> open_;
  std::vector<std::optional<std::string>> left_;  // per rank: set once it left, with its error
  std::string abort_;                             // the first cause, once there is one
  std::vector<std::int64_t> bytes_;
};

}  // namespace cpize::comm
