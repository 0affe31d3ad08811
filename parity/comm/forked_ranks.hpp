// Ranks as processes that a test forks, without a GPU and without MPI, and where they meet.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <vector>

#include "mesh/launch_environment.hpp"

namespace cpize::comm {

/// Where the ranks of one test meet: a file in a folder of its own, or a free port of this machine. Sets the
/// environment that join_store() reads.
class Meeting {
 public:
  explicit Meeting(bool over_file = true);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

 private:
  std::filesystem::path folder_;
};

LaunchEnvironment launch_of(int rank, int world);

/// Forks a process a rank, which ends with what `rank_main` returns (99 where it throws).
std::vector<pid_t> fork_ranks(int world, const std::function<int(int rank)>& rank_main);

/// Waits. The exit code, or minus the signal that ended it.
int ended_with(pid_t rank);

}  // namespace cpize::comm
