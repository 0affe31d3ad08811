// Who failed, who is gone and who is done, over a file and over a port: processes that are forked here, without a GPU.
#include "comm/store_liveness.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "parity/comm/forked_ranks.hpp"

namespace cpize::comm {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds silence{2'000};
constexpr int world = 3;

enum class Ending { all_leave, one_fails, one_is_killed, one_is_stopped, server_is_killed, computing_meanwhile };

std::string wait_for_failure(StoreLiveness& liveness, milliseconds at_most) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (std::chrono::steady_clock::now() < deadline) {
    if (const std::string cause = liveness.failure(); !cause.empty()) return cause;
    usleep(20'000);
  }
  return "";
}

/// What rank `rank` does; the exit status says whether it saw what it had to see.
int rank_main(int rank, Ending ending) {
  const int odd = ending == Ending::server_is_killed ? 0 : 1;
  const ProcessStore met = join_store(launch_of(rank, world), milliseconds(20'000));
  StoreLiveness liveness(met, rank, world, silence);
  if (ending == Ending::all_leave || ending == Ending::computing_meanwhile) {
    if (ending == Ending::computing_meanwhile) usleep(rank == odd ? 3'500'000 : 0);  // longer than the silence
    liveness.leave(milliseconds(20'000));
    return liveness.failure().empty() ? 0 : 1;
  }
  if (rank == odd) {
    usleep(300'000);
    if (ending == Ending::one_fails) {
      const std::string first = liveness.fail("out of memory in layer 3");
      liveness.linger(milliseconds(3'000));
      return first == "rank 1 failed: out of memory in layer 3" ? 0 : 2;
    }
    std::raise(ending == Ending::one_is_stopped ? SIGSTOP : SIGKILL);
  }
  const std::string cause = wait_for_failure(liveness, 4 * silence);
  liveness.fail("second hand");
  liveness.linger(milliseconds(500));
  if (ending == Ending::one_fails) return cause == "rank 1 failed: out of memory in layer 3" ? 0 : 3;
  if (ending == Ending::server_is_killed) return cause.find("does not answer") != std::string::npos ? 0 : 4;
  return cause.find("rank 1 gave no sign of life for 2 s") != std::string::npos ? 0 : 5;
}

void run(Ending ending, bool over_file) {
  const Meeting meeting(over_file);
  const std::vector<pid_t> ranks = fork_ranks(world, [&](int rank) { return rank_main(rank, ending); });
  const int odd = ending == Ending::server_is_killed ? 0 : 1;
  for (int rank = 0; rank < world; ++rank) {
    if (rank == odd && ending == Ending::one_is_stopped) continue;
    const int ended = ended_with(ranks[rank]);
    if (rank == odd && (ending == Ending::one_is_killed || ending == Ending::server_is_killed))
      EXPECT_EQ(ended, -SIGKILL);
    else
      EXPECT_EQ(ended, 0) << "rank " << rank << (over_file ? ", file" : ", port");
  }
  if (ending == Ending::one_is_stopped) {
    kill(ranks[odd], SIGKILL);
    ended_with(ranks[odd]);
  }
}

TEST(StoreLiveness, AllLeave) {
  for (const bool over_file : {true, false}) run(Ending::all_leave, over_file);
}
TEST(StoreLiveness, ARankThatComputesIsAlive) {
  for (const bool over_file : {true, false}) run(Ending::computing_meanwhile, over_file);
}
TEST(StoreLiveness, OneFailsAndAllNameTheFirstCause) {
  for (const bool over_file : {true, false}) run(Ending::one_fails, over_file);
}
TEST(StoreLiveness, OneIsKilled) {
  for (const bool over_file : {true, false}) run(Ending::one_is_killed, over_file);
}
TEST(StoreLiveness, OneIsStopped) {
  for (const bool over_file : {true, false}) run(Ending::one_is_stopped, over_file);
}
TEST(StoreLiveness, TheRankThatServesTheStoreIsKilled) { run(Ending::server_is_killed, false); }

}  // namespace
}  // namespace cpize::comm
