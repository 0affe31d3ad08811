#include "mesh/launch_environment.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <vector>

#include "error/error.hpp"

namespace cpize {
namespace {

/// One launcher: its name, and for each number the variables that may hold it, the first one set counts.
struct Launcher {
  const char* name;
  const char* title;
  std::vector<const char*> rank, world, local_rank, local_world;
};

const std::vector<Launcher>& launchers() {
  static const std::vector<Launcher> all{
      {"torchrun", "torchrun", {"RANK"}, {"WORLD_SIZE"}, {"LOCAL_RANK"}, {"LOCAL_WORLD_SIZE"}},
      {"slurm",
       "SLURM",
       {"SLURM_PROCID"},
       {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"},
       {"SLURM_LOCALID"},
       {"SLURM_STEP_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"}},
      {"openmpi",
       "Open MPI",
       {"OMPI_COMM_WORLD_RANK"},
       {"OMPI_COMM_WORLD_SIZE"},
       {"OMPI_COMM_WORLD_LOCAL_RANK"},
       {"OMPI_COMM_WORLD_LOCAL_SIZE"}}};
  return all;
}

/// A number with where it comes from, e.g. {4, "WORLD_SIZE=4"}.
struct Said {
  int value = 0;
  std::string where;
};

struct Words {
  std::string source, title;
  std::optional<Said> rank, world, local_rank, local_world;
};

/// "4" or SLURM's "4(x2)" and "4,3": the first number is that of the first node, which is all that is needed.
std::optional<int> number(const std::string& text, bool list) {
  int value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size();
  if (status != std::errc{} || (!whole && !(list && (*end == '(' || *end == ',')))) return std::nullopt;
  return value;
}

std::optional<Said> look_up(const EnvironmentMap& environment, const std::vector<const char*>& names) {
  for (const char* name : names) {
    const auto at = environment.find(name);
    if (at == environment.end() || at->second.empty()) continue;
    const std::string where = std::string(name) + "=" + at->second;
    const auto value = number(at->second, std::string(name).find("PER_NODE") != std::string::npos);
    if (!value || *value < 0) throw ConfigError(where + " is no number of ranks; unset it or let the launcher set it");
    return Said{*value, where};
  }
  return std::nullopt;
}

/// A script that sbatch runs, or a shell of salloc, carries SLURM's numbers although it is one process of one.
bool is_batch_script(const EnvironmentMap& environment) {
  return environment.count("SLURM_JOB_ID") && !environment.count("SLURM_STEP_ID");
}

std::vector<Words> everybody(const EnvironmentMap& environment, const LaunchFlags& flags) {
  std::string only;
  if (const auto at = environment.find("CPIZE_LAUNCHER"); at != environment.end()) only = at->second;
  bool known = only.empty();
  std::vector<Words> found;
  if (flags.rank || flags.world || flags.local_rank || flags.local_world) {
    Words words{"flags", "flags", {}, {}, {}, {}};
    const auto said = [](const std::optional<int>& value, const char* flag) {
      return value ? std::optional<Said>({*value, std::string(flag) + " " + std::to_string(*value)}) : std::nullopt;
    };
    words.rank = said(flags.rank, "--rank");
    words.world = said(flags.world, "--world");
    words.local_rank = said(flags.local_rank, "--local-rank");
    words.local_world = said(flags.local_world, "--local-world");
    found.push_back(words);
  }
  for (const auto& launcher : launchers()) {
    known = known || only == launcher.name;
    if (!only.empty() && only != launcher.name) continue;
    Words words{launcher.name,
                launcher.title,
                look_up(environment, launcher.rank),
                look_up(environment, launcher.world),
                look_up(environment, launcher.local_rank),
                look_up(environment, launcher.local_world)};
    const bool slurm = words.source == "slurm";
    if (slurm && is_batch_script(environment)) continue;
    if (slurm && !words.rank) continue;  // numbers of the job, not of a process that srun started
    if (words.rank || words.world) found.push_back(words);
  }
  if (!known) throw ConfigError("CPIZE_LAUNCHER=" + only + " is no launcher; write torchrun, slurm or openmpi");
  return found;
}

}  // namespace

std::string launch_line(const std::string& source, int world, const std::string& command) {
  const std::string n = std::to_string(world);
  if (source == "torchrun") return "torchrun --no-python --nproc-per-node " + n + " " + command;
  if (source == "slurm") return "srun -n " + n + " " + command;
  return "mpirun -n " + n + " " + command;
}

void require_mesh_fits(const MeshShape& mesh, const LaunchEnvironment& launch) {
  if (mesh.size() == launch.world) return;
  const std::string started = launch.source == "none"
                                  ? "1 process was started, by no launcher"
                                  : std::to_string(launch.world) + " were started (" + launch.source + ")";
  throw ConfigError("mesh " + mesh.str() + " needs " + std::to_string(mesh.size()) + " ranks, but " + started +
                    "; launch with: " + launch.line);
}

LaunchEnvironment read_launch_environment(const EnvironmentMap& environment, const LaunchFlags& flags,
                                          const LaunchPurpose& purpose) {
  const std::vector<Words> all = everybody(environment, flags);
  LaunchEnvironment launch;
  int wanted = purpose.mesh ? purpose.mesh->size() : 0;
  if (!all.empty()) launch.source = all[0].source;
  for (const auto& words : all)
    if (!wanted && words.world) wanted = words.world->value;
  const std::string launcher = all.size() > 1 && launch.source == "flags" ? all[1].source : launch.source;
  launch.line = launch_line(launcher, wanted > 0 ? wanted : 1, purpose.command);
  const std::string remedy = "; launch with: " + launch.line;

  // Who speaks first counts, and everybody who speaks later must agree.
  std::optional<Said> rank, world, local_rank, local_world;
  std::string rank_by, world_by, local_rank_by, local_world_by;
  const auto settle = [&](std::optional<Said>& settled, std::string& by, const std::optional<Said>& said,
                          const Words& words, const char* what) {
    if (!said) return;
    if (!settled) {
      settled = said;
      by = words.title;
      return;
    }
    if (settled->value == said->value) return;
    std::string both = by + " and " + words.title + " disagree about the " + what + ": " +
                       std::to_string(settled->value) + " (" + settled->where + ") against " +
                       std::to_string(said->value) + " (" + said->where + ")" + remedy;
    if (all[0].source != "flags" || by != "flags")
      both += ". If one of them starts the other, CPIZE_LAUNCHER=" + words.source + " says that it counts";
    throw ConfigError(both);
  };
  for (const auto& words : all) {
    settle(world, world_by, words.world, words, "number of ranks");
    settle(rank, rank_by, words.rank, words, "rank");
    settle(local_rank, local_rank_by, words.local_rank, words, "local rank");
    settle(local_world, local_world_by, words.local_world, words, "number of local ranks");
  }
  if (rank && !world)
    throw ConfigError("the rank is " + std::to_string(rank->value) + " (" + rank->where +
                      "), but nothing says of how many (WORLD_SIZE, --world)" + remedy);
  if (world && !rank && world->value != 1)
    throw ConfigError("there are " + std::to_string(world->value) + " ranks (" + world->where +
                      "), but nothing says which one this process is (RANK, --rank)" + remedy);
  launch.world = world ? world->value : 1;
  launch.rank = rank ? rank->value : 0;
  if (launch.world < 1) throw ConfigError(world->where + ": a world has at least 1 rank" + remedy);
  if (purpose.mesh) require_mesh_fits(*purpose.mesh, launch);
  if (launch.rank >= launch.world || launch.rank < 0)
    throw ConfigError("rank " + std::to_string(launch.rank) + " (" + rank->where + ") is outside the world of " +
                      std::to_string(launch.world) + " (" + world->where + "): ranks are 0 to " +
                      std::to_string(launch.world - 1) + remedy);
  launch.local_world = local_world ? local_world->value : launch.world;
  launch.local_rank = local_rank ? local_rank->value : (local_world ? launch.rank % launch.local_world : launch.rank);
  if (launch.local_world < 1 || launch.local_world > launch.world)
    throw ConfigError(std::to_string(launch.local_world) + " local ranks (" + local_world->where + ") in a world of " +
                      std::to_string(launch.world) + remedy);
  if (launch.local_rank >= launch.local_world || launch.local_rank < 0)
    throw ConfigError("local rank " + std::to_string(launch.local_rank) + " (" +
                      (local_rank ? local_rank->where : "from the rank") + ") is outside the " +
                      std::to_string(launch.local_world) + " ranks of this machine" + remedy);
  return launch;
}

EnvironmentMap process_environment() {
  EnvironmentMap environment;
  const auto take = [&](const char* name) {
    if (const char* value = std::getenv(name)) environment[name] = value;
  };
  for (const char* name : {"CPIZE_LAUNCHER", "SLURM_JOB_ID", "SLURM_STEP_ID"}) take(name);
  for (const auto& launcher : launchers())
    for (const auto* names : {&launcher.rank, &launcher.world, &launcher.local_rank, &launcher.local_world})
      for (const char* name : *names) take(name);
  return environment;
}

}  // namespace cpize
