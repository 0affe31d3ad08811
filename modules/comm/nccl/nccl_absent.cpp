#include "comm/process_backend.hpp"
#include "error/error.hpp"

namespace cpize::comm {

std::string why_no_nccl() {
  return "this build has no NCCL; configure with -DCPIZE_CUDA=ON (preset gpu), or use --backend mpi or threads";
}

c10::intrusive_ptr<ProcessBackend> join_nccl(const LaunchEnvironment&, const ProcessBackendOptions&) {
  throw ConfigError(why_no_nccl());
}

}  // namespace cpize::comm
