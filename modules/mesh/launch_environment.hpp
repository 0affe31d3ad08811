// LaunchEnvironment: which rank of how many this process is, by flags or by what its launcher says. No torch in here.
//
// Explicit flags count first, then torchrun (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE), SLURM (SLURM_PROCID,
// SLURM_NTASKS, SLURM_LOCALID, SLURM_NTASKS_PER_NODE), Open MPI (OMPI_COMM_WORLD_*). All that speak must say the same:
// what disagrees is a ConfigError that names both numbers, where each comes from, and the launch line to use. Where one
// launcher starts another (sbatch, then mpirun), CPIZE_LAUNCHER=torchrun|slurm|openmpi says which one counts.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "mesh/mesh_shape.hpp"

namespace cpize {

/// Numbers that a person gave on the command line.
struct LaunchFlags {
  std::optional<int> rank, world, local_rank, local_world;
};

struct LaunchEnvironment {
  int rank = 0, world = 1;
  /// Among the processes of this machine. Unknown without a launcher that says it: then rank and world.
  int local_rank = 0, local_world = 1;
  std::string source = "none";  // "flags", "torchrun", "slurm", "openmpi", "none": a process on its own
  std::string line;  // how to launch the ranks that are wanted, for messages: "mpirun -n 4 cpize-world --mesh 1x2x2"
};

/// What the processes are for; it only enters messages, except `mesh`, whose size must be that of the world.
struct LaunchPurpose {
  std::string command = "<program>";  // the program with its arguments
  std::optional<MeshShape> mesh;
};

using EnvironmentMap = std::map<std::string, std::string>;

/// The variables of this process that read_launch_environment looks at.
EnvironmentMap process_environment();

/// ConfigError where numbers are malformed, incomplete or contradict each other, or where the rank is outside the
/// world.
LaunchEnvironment read_launch_environment(const EnvironmentMap& environment, const LaunchFlags& flags = {},
                                          const LaunchPurpose& purpose = {});

/// ConfigError unless the mesh has as many ranks as the world.
void require_mesh_fits(const MeshShape& mesh, const LaunchEnvironment& launch);

/// The line that starts `world` ranks with the launcher `source` names; mpirun where it names none.
std::string launch_line(const std::string& source, int world, const std::string& command);

}  // namespace cpize
