// WorldArguments: the command line of a program whose ranks are threads or processes.
//
//   --mesh 1x2x2 (also 2x2)            which ranks there are to be
//   --backend threads|mpi|nccl         default: what the launcher suggests
//   --timeout S, --join-timeout S      how long a collective, and the start, wait for a rank (seconds; 60 and 30)
//   --rank, --world, --local-rank, --local-world      instead of what the launcher says, or to check it
#pragma once
#include <string>
#include <vector>

#include "comm/world.hpp"

namespace cpize::parity {

struct WorldArguments {
  comm::BackendKind backend = comm::BackendKind::threads;
  comm::WorldOptions options;       // of a world of processes
  std::vector<std::string> meshes;  // --mesh, as typed
  std::vector<std::string> rest;    // what is none of these, in order

  /// `cells`: of the tool (CPIZE_CELLS), which then say backend and mesh. ConfigError for bad or contradicting
  /// arguments.
  static WorldArguments read(int argc, char** argv, const std::string& cells);
};

}  // namespace cpize::parity
