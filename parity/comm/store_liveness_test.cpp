// Who failed, who is gone and who is done, over a file and over a port: processes that are forked here, without a GPU.
#include "comm/store_liveness.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "error/error.hpp"

namespace cpize::comm {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds silence{2'000};
constexpr int world = 3;

/// Where the ranks of one test meet.
class Meeting {
 public:
  explicit Meeting(bool over_file) {
    if (over_file) {
      char folder[] = "/tmp/cpize-store-XXXXXX";
      folder_ = mkdtemp(folder);
      setenv("CPIZE_RENDEZVOUS", (folder_ / "rendezvous").c_str(), 1);
      return;
    }
    unsetenv("CPIZE_RENDEZVOUS");
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (bind(s, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        getsockname(s, reinterpret_cast<sockaddr*>(&address), &length) != 0)
      throw Error("no free port");
    close(s);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    setenv("MASTER_PORT", std::to_string(ntohs(address.sin_port)).c_str(), 1);
  }
  ~Meeting() {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

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
  LaunchEnvironment launch;
  launch.rank = rank;
  launch.world = world;
  const ProcessStore met = join_store(launch, milliseconds(20'000));
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
  Meeting meeting(over_file);
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < world; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      int code = 99;
      try {
        code = rank_main(rank, ending);
      } catch (const std::exception& e) {
        fprintf(stderr, "rank %d: %s\n", rank, e.what());
      }
      _exit(code);
    }
    ranks.push_back(child);
  }
  const int odd = ending == Ending::server_is_killed ? 0 : 1;
  for (int rank = 0; rank < world; ++rank) {
    if (rank == odd && ending == Ending::one_is_stopped) continue;
    int status = 0;
    waitpid(ranks[rank], &status, 0);
    if (rank == odd && (ending == Ending::one_is_killed || ending == Ending::server_is_killed))
      EXPECT_TRUE(WIFSIGNALED(status));
    else
      EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0)
          << "rank " << rank << (over_file ? ", file" : ", port");
  }
  if (ending == Ending::one_is_stopped) {
    kill(ranks[odd], SIGKILL);
    waitpid(ranks[odd], nullptr, 0);
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
