#include "comm/process_backend.hpp"

#include "comm/peers/peer_copies.hpp"
#include "error/error.hpp"

namespace cpize::comm {

ProcessBackend::~ProcessBackend() = default;

bool ProcessBackend::supportsTensorAlloc(c10::DeviceIndex device) { return peers_ && peers_->takes(device); }

at::Tensor ProcessBackend::allocateTensor(long elements, at::TensorOptions options) {
  if (!peers_) throw ContractError(getBackendName() + " backend: there is no memory that peers can read");
  return peers_->allocate({elements}, options);
}

void ProcessBackend::require_pieces(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs) {
  const auto ranks = static_cast<std::size_t>(getSize());
  if (outputs.size() != ranks || inputs.size() != ranks)
    throw ContractError(getBackendName() + " backend: alltoall wants one piece a rank (" + std::to_string(ranks) +
                        "), got " + std::to_string(outputs.size()) + " and " + std::to_string(inputs.size()));
  if (!peers_) throw ContractError(getBackendName() + " backend: there are no peers that read each other's memory");
  for (const auto* pieces : {&outputs, &inputs})
    for (const auto& t : *pieces)
      if (t.defined() && !(t.is_cuda() && supportsTensorAlloc(t.device().index())))
        throw ContractError(
            getBackendName() +
            " backend: alltoall of strided pieces is between GPUs that read each other's memory, not on " +
            t.device().str());
}

c10::intrusive_ptr<c10d::Work> ProcessBackend::alltoall(std::vector<at::Tensor>& outputs,
                                                        std::vector<at::Tensor>& inputs, const c10d::AllToAllOptions&) {
  require_pieces(outputs, inputs);
  return peers_->alltoall(outputs, inputs);
}

}  // namespace cpize::comm
