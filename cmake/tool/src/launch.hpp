// Launching a measurement: cells of one backend and number of ranks run together.
//
//   threads   the program itself; its ranks are threads
//   mpi       <mpiexec> -n W <program>, on a GPU with one leased GPU that all ranks share
//   nccl      W children of ours with the variables of torchrun, a fresh file to meet at, and a leased GPU each, or for
//             several of them (CPIZE_RANKS_PER_GPU)
//
// Whatever is started dies with us, and as one group when its time is up.
#pragma once
#include <string>
#include <vector>

#include "child.hpp"
#include "plan.hpp"

namespace cpize::tool {

/// What a cell's name says; `ranks` 0 where it cannot be read.
struct CellPlace {
  int ranks = 0;
  std::string mesh, backend, dtype, device;
  static CellPlace of(const std::string& cell);
  /// More than this process's threads: an MPI launcher or a GPU.
  bool needs_hardware() const { return device == "cuda" || backend == "nccl"; }
};

/// What there is to measure with: looked up once, since every task asks.
struct Machine {
  int gpus = 0;
  bool cuda = false, mpi = false;
  static Machine here(const Plan& plan);
  /// "" where the cell can be measured here, else why not: "no GPU", "2 GPUs needed, 1 here", "the build has no CUDA",
  /// "no mpirun".
  std::string lacks_for(const std::string& cell) const;
};

/// Whether the plan itself is for this kind of cell: then lacking the hardware blocks.
bool asks_for(const Plan& plan, const std::string& cell);

/// Cells that one launch measures, in the plan's order.
struct LaunchGroup {
  std::string backend, device;
  int ranks = 1;
  std::vector<std::string> cells;
};
std::vector<LaunchGroup> launch_groups(const std::vector<std::string>& cells);

/// Runs `program` (its command, directory, log, limit and environment) as the group needs it. `who` takes the GPUs. A
/// lack of GPUs is a Blocker.
ChildResult launch(const Plan& plan, const std::string& who, const ChildSpec& program, const LaunchGroup& group);

}  // namespace cpize::tool
