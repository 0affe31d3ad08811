// ProcessBackend: a c10d::Backend whose ranks are processes, with what a world of processes needs beside collectives:
// telling the others that this rank gives up or is done, so that nobody waits for it.
#pragma once
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <chrono>
#include <memory>
#include <string>

#include "mesh/launch_environment.hpp"

namespace cpize::comm {

/// Whether GPUs of one machine exchange by reading each other's memory (peers/peer_copies.hpp). mpi does so only where
/// `always` asks for it and the process sees a GPU: with the GPU that is current when the ranks join, which is the
/// first one unless the launcher shows each rank its own.
enum class PeerCopiesChoice { where_possible, always, never };

struct ProcessBackendOptions {
  std::chrono::milliseconds timeout{60'000};           // of one collective
  std::chrono::milliseconds join_timeout{30'000};      // of coming together at the start
  std::size_t largest_message = std::size_t{1} << 30;  // bytes; longer ones travel in pieces (MPI counts are int)
  bool check_collectives = false;  // for backends that do not always check (comm/collective_check.hpp)
  PeerCopiesChoice peer_copies = PeerCopiesChoice::where_possible;
  int ranks_per_gpu = 1;  // nccl
};

namespace peers {
class PeerCopies;
}

class ProcessBackend : public c10d::Backend {
 public:
  using Backend::Backend;
  ~ProcessBackend() override;

  /// Where this rank's control tensors (comm/agree.hpp) and activations live: the CPU, or this rank's GPU.
  virtual at::Device device() const = 0;

  /// The first cause of failure that this rank knows of, its own or another's; empty while there is none. Any thread.
  virtual std::string failure() noexcept = 0;

  /// This rank gives up with `cause`: tells everybody, does not wait. Returns the first cause, which may be another's.
  virtual std::string fail(const std::string& cause) noexcept = 0;

  /// After fail(), once this rank has said the cause: waits until everybody has, `at_most` so long. A launcher kills
  /// the other ranks when the first one ends.
  virtual void linger(std::chrono::milliseconds at_most) noexcept = 0;

  /// A backend over the same ranks for trying out mistakes: what fails there does not end this world. A collective.
  virtual c10::intrusive_ptr<c10d::Backend> spare() = 0;

  /// This rank is done: tells everybody and waits until all are; PeerError where one fails or does not come within the
  /// timeout. Nothing may be communicated afterwards.
  virtual void leave() = 0;

  /// Whether peers read tensors on this GPU (peers/peer_copies.hpp); then memory that they can read, and all-to-all
  /// exchanges of strided pieces. ContractError where they do not.
  bool supportsTensorAlloc(c10::DeviceIndex device) override;
  at::Tensor allocateTensor(long elements, at::TensorOptions options = {}) override;
  c10::intrusive_ptr<c10d::Work> alltoall(std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs,
                                          const c10d::AllToAllOptions& options = {}) override;

 protected:
  /// ContractError unless it is one piece a rank, on this rank's GPU, and peers read it.
  void require_pieces(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs);

  std::shared_ptr<peers::PeerCopies> peers_;  // null where the backend itself moves everything
};

/// Why this build has no such backend; empty where it has.
std::string why_no_mpi();
std::string why_no_nccl();

/// Joins the world that mpirun or srun started. ConfigError where MPI and `launch` disagree about rank or world.
c10::intrusive_ptr<ProcessBackend> join_mpi(const LaunchEnvironment& launch, const ProcessBackendOptions& options);

/// Joins over a store (comm/process_store.hpp), one GPU a rank, or `ranks_per_gpu` neighbours on each.
c10::intrusive_ptr<ProcessBackend> join_nccl(const LaunchEnvironment& launch, const ProcessBackendOptions& options);

}  // namespace cpize::comm
