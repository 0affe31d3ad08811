// Meeting: a store for the ranks of one machine, which MPI tells where it is.
#pragma once
#include <chrono>

#include "comm/mpi/endpoint.hpp"
#include "comm/process_store.hpp"

namespace cpize::comm::mpi {

/// A port of the loopback that the system chose and rank 0 serves. Coming and leaving are collectives of the endpoint,
/// so nobody else may call it meanwhile. A call of the store throws libtorch's error where others do not come in time.
class Meeting {
 public:
  /// ConfigError on every rank where they are on several machines, or where rank 0 can serve nothing.
  Meeting(const Endpoint& endpoint, std::chrono::milliseconds timeout);
  const ProcessStore& store() const { return store_; }
  /// Waits until all have come so far: then nobody needs rank 0's port any more.
  void leave() const { endpoint_.meet(); }

 private:
  const Endpoint& endpoint_;
  ProcessStore store_;
};

}  // namespace cpize::comm::mpi
