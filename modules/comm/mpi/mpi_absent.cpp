#include "comm/process_backend.hpp"
#include "error/error.hpp"

namespace cpize::comm {

std::string why_no_mpi() {
  return "this build has no MPI (it was configured where none was found); install libopenmpi-dev and openmpi-bin and "
         "configure again, or use --backend threads";
}

c10::intrusive_ptr<ProcessBackend> join_mpi(const LaunchEnvironment&, const ProcessBackendOptions&) {
  throw ConfigError(why_no_mpi());
}

}  // namespace cpize::comm
