#include "parity/comm/forked_ranks.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "error/error.hpp"

namespace cpize::comm {

Meeting::Meeting(bool over_file) {
  if (over_file) {
    std::string folder = (std::filesystem::temp_directory_path() / "cpize-meeting-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) throw Error("no folder " + folder);
    folder_ = folder;
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

Meeting::~Meeting() {
  if (!folder_.empty()) std::filesystem::remove_all(folder_);
}

LaunchEnvironment launch_of(int rank, int world) {
  LaunchEnvironment launch;
  launch.rank = rank;
  launch.world = world;
  return launch;
}

std::vector<pid_t> fork_ranks(int world, const std::function<int(int rank)>& rank_main) {
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < world; ++rank) {
    ranks.push_back(fork());
    if (ranks.back() != 0) continue;
    int code = 99;
    try {
      code = rank_main(rank);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "rank %d: %s\n", rank, e.what());
    }
    _exit(code);
  }
  return ranks;
}

int ended_with(pid_t rank) {
  int status = 0;
  waitpid(rank, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace cpize::comm
