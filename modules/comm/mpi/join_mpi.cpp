#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "comm/mpi/mpi_backend.hpp"
#include "error/error.hpp"

namespace cpize::comm {

std::string why_no_mpi() { return ""; }

c10::intrusive_ptr<ProcessBackend> join_mpi(const LaunchEnvironment& launch, const ProcessBackendOptions& options) {
  auto endpoint = std::make_unique<mpi::Endpoint>(options.largest_message);
  if (endpoint->size() != launch.world)
    throw ConfigError("MPI has " + std::to_string(endpoint->size()) + " ranks, but the world is to have " +
                      std::to_string(launch.world) + " (" + launch.source + "); launch with: " + launch.line);
  if (endpoint->rank() != launch.rank)
    throw ConfigError("MPI calls this process rank " + std::to_string(endpoint->rank()) + ", but " + launch.source +
                      " says rank " + std::to_string(launch.rank) + "; launch with: " + launch.line);
  auto backend = c10::make_intrusive<mpi::MpiBackend>(std::move(endpoint), options);
  if (options.peer_copies == PeerCopiesChoice::always && at::hasCUDA())
    backend->copy_between({at::kCUDA, c10::impl::VirtualGuardImpl(at::kCUDA).getDevice().index()},
                          options.join_timeout);
  return backend;
}

}  // namespace cpize::comm
