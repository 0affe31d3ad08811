// Meeting: a store for the ranks of one machine, told by MPI where it is.
#pragma once
#include <chrono>
#include <string>

#include "comm/mpi/endpoint.hpp"
#include "comm/process_store.hpp"

namespace cpize::comm::mpi {

/// A file that lasts until all ranks have left the meeting. Coming and leaving are collectives of the endpoint, so
/// nobody else may call it meanwhile.
class Meeting {
 public:
  /// ConfigError on every rank where they are on several machines.
  Meeting(Endpoint& endpoint, std::chrono::milliseconds timeout);
  const ProcessStore& store() const { return store_; }
  void leave();

 private:
  Endpoint& endpoint_;
  ProcessStore store_;
};

}  // namespace cpize::comm::mpi
