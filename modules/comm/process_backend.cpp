#include "comm/process_backend.hpp"

#include "comm/nccl/peer_copies.hpp"
#include "error/error.hpp"

namespace cpize::comm {

ProcessBackend::~ProcessBackend() = default;

bool ProcessBackend::supportsTensorAlloc(c10::DeviceIndex device) { return peers_ && peers_->takes(device); }

at::Tensor ProcessBackend::allocateTensor(long elements, at::TensorOptions options) {
  if (!peers_) throw ContractError(getBackendName() + " backend: there is no memory that peers can read");
  return peers_->allocate({elements}, options);
}

c10::intrusive_ptr<c10d::Work> ProcessBackend::alltoall(std::vector<at::Tensor>& outputs,
                                                        std::vector<at::Tensor>& inputs, const c10d::AllToAllOptions&) {
  if (!peers_)
    throw ContractError(getBackendName() +
                        " backend: alltoall of strided pieces needs GPUs that read each other's memory");
  const auto ranks = static_cast<std::size_t>(getSize());
  if (outputs.size() != ranks || inputs.size() != ranks)
    throw ContractError(getBackendName() + " backend: alltoall wants one piece a rank (" + std::to_string(ranks) +
                        "), got " + std::to_string(outputs.size()) + " and " + std::to_string(inputs.size()));
  return peers_->alltoall(outputs, inputs);
}

}  // namespace cpize::comm
