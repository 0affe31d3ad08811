// Notices between processes that are forked here: in order, whole, no further ahead than the board is deep, and no
// trace of the shared memory afterwards.
#include "comm/peers/peer_board.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "error/error.hpp"
#include "parity/comm/forked_ranks.hpp"

namespace cpize::comm::peers {
namespace {

constexpr int world = 3;
constexpr std::uint64_t notices = 5'000;

PeerNotice notice_of(int rank, std::uint64_t number) {
  PeerNotice notice;
  for (int q = 0; q < world; ++q) {
    notice.memory[q].fill(static_cast<char>(rank + number));
    notice.pieces[q].offset = static_cast<std::int64_t>(number * 10 + q);
    notice.pieces[q].sizes.fill(rank);
  }
  return notice;
}

bool is_notice_of(const PeerNotice& n, int rank, std::uint64_t number, int reader) {
  return n.memory[reader].front() == static_cast<char>(rank + number) &&
         n.memory[reader].back() == n.memory[reader].front() &&
         n.pieces[reader].offset == static_cast<std::int64_t>(number * 10 + reader) &&
         n.pieces[reader].sizes[5] == rank;
}

int rank_main(int rank, bool one_objects) {
  const ProcessStore met = join_store(launch_of(rank, world), std::chrono::milliseconds(20'000));
  std::string why;
  PeerBoard board = PeerBoard::join(met, "board", rank, world, why);
  if (!board) return 10;
  if (one_objects) {
    why = first_objection(met, "objections", rank, world, rank == 0 ? "" : "no " + std::to_string(rank));
    return why == "rank 1: no 1" ? 0 : 11;
  }
  std::uint64_t posted = 0;
  std::vector<std::uint64_t> taken(world, 0);
  const auto done = [&] {
    for (int q = 0; q < world; ++q)
      if (q != rank && taken[q] < notices) return false;
    return posted == notices;
  };
  while (!done()) {
    if (posted < notices && board.room(posted + 1)) {
      ++posted;
      board.post(posted, notice_of(rank, posted));
    }
    for (int q = 0; q < world; ++q) {
      if (q == rank || taken[q] == notices) continue;
      if (rank == 2 && posted % 7 == 0 && posted > taken[q] + 3 && posted < notices) continue;  // a slow reader
      const PeerNotice* notice = board.look(q, taken[q] + 1);
      if (notice == nullptr) continue;
      if (!is_notice_of(*notice, q, taken[q] + 1, rank)) return 12;
      board.take(q, ++taken[q]);
    }
  }
  if (board.room(notices + PeerBoard::kDepth + 1)) return 13;
  try {
    board.post(notices + PeerBoard::kDepth + 1, {});
    return 14;
  } catch (const ContractError&) {
  }
  return 0;
}

void run(bool one_objects) {
  const Meeting meeting;
  const std::vector<pid_t> ranks = fork_ranks(world, [&](int rank) { return rank_main(rank, one_objects); });
  for (int rank = 0; rank < world; ++rank) {
    EXPECT_EQ(ended_with(ranks[rank]), 0) << "rank " << rank;
    const std::string name = "cpize-" + std::to_string(ranks[rank]);
    for (const auto& file : std::filesystem::directory_iterator("/dev/shm"))
      EXPECT_NE(file.path().filename().string().substr(0, name.size()), name);
  }
}

TEST(PeerBoard, NoticesComeInOrderAndWhole) { run(false); }
TEST(PeerBoard, AnObjectionOfOneIsHeardByAll) { run(true); }

}  // namespace
}  // namespace cpize::comm::peers
