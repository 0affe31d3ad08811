// ProcessWorld: the world of processes that a launcher (mpirun, srun, torchrun, `cpize prove`) started, one rank a
// process.
//
//   int main(int argc, char** argv) {
//     comm::WorldOptions options{comm::BackendKind::mpi};
//     return comm::run_process_rank(argc, argv, options, [&](comm::ProcessWorld& world) {
//       MeshPtr mesh = world.mesh(MeshShape::parse("2x2"));      // as often as wanted; every mesh spans the world
//       ...                                                      // throw to fail: every rank ends with the first cause
//       return 0;
//     });
//   }
//
// Ranks that are threads of one process are started by comm/run_ranks.hpp instead. The world is joined explicitly, once
// a process.
#pragma once
#include <ATen/core/Tensor.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "comm/process_backend.hpp"
#include "mesh/device_mesh.hpp"
#include "mesh/launch_environment.hpp"

namespace cpize::comm {

enum class BackendKind { threads, mpi, nccl };
/// "threads", "mpi", "nccl"; ConfigError otherwise.
BackendKind parse_backend(const std::string& text);
std::string name_of(BackendKind kind);
/// What a launcher suggests: a process on its own has ranks as threads; mpirun: mpi; torchrun and srun: nccl where this
/// build has it and GPUs are here, else mpi.
BackendKind default_backend(const LaunchEnvironment& launch);

using cpize::LaunchEnvironment;

struct WorldOptions {
  BackendKind backend = BackendKind::mpi;
  /// How long a rank waits in one collective for the others.
  std::chrono::milliseconds timeout{60'000};
  /// How long the ranks that came wait for those that did not; then the error lists who is absent.
  std::chrono::milliseconds join_timeout{30'000};
  /// The mesh that is wanted: checked before anybody is waited for. Other meshes of that size can be made as well.
  std::optional<MeshShape> mesh = {};
  LaunchFlags flags = {};
  std::string command = "<program>";  // for the launch line in messages

  /// mpi: messages of more bytes travel in pieces.
  std::size_t largest_message = std::size_t{1} << 30;
  /// Whether every rank's operation is compared before it is done. mpi always does (but of peer copies only sizes);
  /// over nccl it costs a wait for each.
  bool check_collectives = false;
  /// Whether GPUs of one machine exchange by copy engines; `always` is a ConfigError where GPUs cannot. mpi stages
  /// through the host otherwise, and where the process sees no GPU.
  PeerCopiesChoice peer_copies = PeerCopiesChoice::where_possible;
  /// nccl: ranks that share a GPU. NCCL refuses that on one machine, so each rank says that it is on a machine of its
  /// own (NCCL_HOSTID): right, but slow. For proofs, not for speed.
  int ranks_per_gpu = 1;

  /// Takes CPIZE_TIMEOUT and CPIZE_JOIN_TIMEOUT (seconds), CPIZE_CHECK_COLLECTIVES, CPIZE_PEER_COPIES (0: never, 1:
  /// always) and CPIZE_RANKS_PER_GPU from the environment; ConfigError where they are something else.
  WorldOptions& with_environment();
};

class ProcessWorld {
 public:
  /// Joins the world. ConfigError where flags, launcher, mesh and world disagree (both numbers, sources, the launch
  /// line), or where this build lacks the backend; PeerError listing the absent ranks where not all come within
  /// join_timeout.
  static ProcessWorld join(const WorldOptions& options);
  /// Does not communicate: a world that is neither left nor failed is left to its launcher.
  ~ProcessWorld();
  ProcessWorld(ProcessWorld&&) noexcept;

  int rank() const { return launch_.rank; }
  int size() const { return launch_.world; }
  const LaunchEnvironment& launch() const { return launch_; }
  /// nccl: this rank's GPU. mpi: the CPU (tensors on a GPU are taken as well).
  at::Device device() const;
  /// A mesh over the whole world; ConfigError where its size is another. Does not communicate.
  MeshPtr mesh(const MeshShape& shape) const;
  ProcessBackend& backend() const;

 private:
  ProcessWorld(LaunchEnvironment launch, c10::intrusive_ptr<ProcessBackend> backend, std::string command);
  LaunchEnvironment launch_;
  std::string command_;
  c10::intrusive_ptr<ProcessBackend> backend_;
};

/// Joins, runs `f` as this process's rank with one intra-op thread, leaves. Returns f's value; where something throws
/// on any rank, every rank prints one line with the first cause to stderr and the process ends (it does not return)
/// with that error's exit code, within the timeout.
int run_process_rank(int argc, char** argv, const WorldOptions& options, const std::function<int(ProcessWorld&)>& f);

}  // namespace cpize::comm
