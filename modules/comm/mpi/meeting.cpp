#include "comm/mpi/meeting.hpp"

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "error/error.hpp"

namespace cpize::comm::mpi {
namespace {

constexpr const char* kLoopback = "127.0.0.1";

}  // namespace

Meeting::Meeting(const Endpoint& endpoint, std::chrono::milliseconds timeout) : endpoint_(endpoint) {
  if (!endpoint.one_machine()) throw ConfigError("peer copies: the ranks are on several machines");
  c10d::TCPStoreOptions options;
  options.waitWorkers = false;
  options.timeout = timeout;
  std::string port, why;
  if (endpoint.rank() == 0) {
    options.isServer = true;
    options.port = 0;  // the system chooses
    try {
      const auto served = c10::make_intrusive<c10d::TCPStore>(kLoopback, options);
      port = std::to_string(served->getPort());
      store_.store = served;
    } catch (const std::exception& e) {  // told to everybody
      why = e.what();
    }
  }
  port = endpoint.from_rank_0(port);
  why = endpoint.from_rank_0(why);
  if (port.empty()) throw ConfigError("peer copies: rank 0 cannot serve a port of the loopback: " + why);
  if (endpoint.rank() != 0) {
    options.isServer = false;
    options.port = static_cast<std::uint16_t>(std::stoi(port));
    store_.store = c10::make_intrusive<c10d::TCPStore>(kLoopback, options);
  }
  store_.text = std::string(kLoopback) + ":" + port;
}

}  // namespace cpize::comm::mpi
