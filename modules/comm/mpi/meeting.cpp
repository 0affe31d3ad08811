#include "comm/mpi/meeting.hpp"

#include <unistd.h>

#include <filesystem>
#include <torch/csrc/distributed/c10d/FileStore.hpp>

#include "error/error.hpp"

namespace cpize::comm::mpi {

Meeting::Meeting(Endpoint& endpoint, std::chrono::milliseconds timeout) : endpoint_(endpoint) {
  if (!endpoint.one_machine())
    throw ConfigError("CPIZE_PEER_COPIES=1, but the ranks are on several machines; leave it out");
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const std::string name = "cpize-" + std::to_string(getpid()) + "-" + std::to_string(now);
  store_.file = endpoint.from_rank_0((std::filesystem::temp_directory_path() / name).string());
  store_.store = c10::make_intrusive<c10d::FileStore>(store_.file, endpoint.size());
  store_.store->setTimeout(timeout);
  store_.text = "file " + store_.file;
}

void Meeting::leave() {
  endpoint_.meet();
  std::error_code gone;
  if (endpoint_.rank() == 0) std::filesystem::remove(store_.file, gone);
}

}  // namespace cpize::comm::mpi
