#include "comm/nccl/peer_copies.hpp"
#include "comm/process_backend.hpp"
#include "error/error.hpp"

namespace cpize::comm {

std::string why_no_nccl() {
  return "this build has no NCCL; configure with -DCPIZE_CUDA=ON (preset gpu), or use --backend mpi or threads";
}

c10::intrusive_ptr<ProcessBackend> join_nccl(const LaunchEnvironment&, const ProcessBackendOptions&) {
  throw ConfigError(why_no_nccl());
}

std::shared_ptr<nccl::PeerCopies> nccl::PeerCopies::join(const ProcessStore&, int, int, at::Device,
                                                         const PeerCopiesOptions&, std::string& why) {
  why = "this build has no CUDA";
  return nullptr;
}

}  // namespace cpize::comm
