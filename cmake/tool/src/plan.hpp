// The plan that configure wrote: tasks, edges, order, and the sources behind each task.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace cpize::tool {

namespace fs = std::filesystem;

/// A project target whose sources count for a task's key.
struct Unit {
  std::string target, flags;
  fs::path dir;
  std::vector<std::string> sources, includes;
};

struct Task {
  std::string id, subsystem, scope, delegate, kind, risk, risk_reason, role, artifact, cases, verb, target, where;
  int phase = 0, world_size = 1, gpus = 0, wave = 0, rank = 0, fan_in = 0, direct = 0, chain = 0, timeout = 0;
  double effort = 0;
  bool in_scope = true;
  fs::path dir;
  std::vector<std::string> depends, implicit, foreign, cites, inputs, command, args, cells;
  std::vector<Unit> units;
};

struct Plan {
  fs::path file, source, build, evidence_dir, collected_evidence, decisions, ledger, serial_tree, serial_lock;
  std::string name, config, cmake, ctest, generator, arguments, scope, mode, data, launch, backend, model, ref;
  std::string mpiexec;  // "" where the build has no MPI
  bool multi = false, cuda = false;
  int dp = 1, world = 1;
  std::vector<int> cp;
  std::vector<std::string> focus;
  std::vector<fs::path> configure_inputs;
  std::map<int, std::string> delegates;              // phase -> command that is called when a task of it is red
  std::map<int, std::vector<std::string>> barriers;  // phase -> tasks that must be green before it
  std::vector<Task> tasks;
  std::unordered_map<std::string, std::size_t> index;

  bool has(const std::string& id) const { return index.contains(id); }
  /// Unknown: UsageError with the nearest id.
  const Task& at(const std::string& id) const;
  /// In-scope tasks by rank; with `all`, the others after them.
  std::vector<const Task*> ranked(bool all = false) const;
  /// A path under the project as "<build>/..." or relative to the source directory; "" for a path outside.
  std::string project_name(const std::string& path) const;
  /// Text with the directories of this checkout replaced by <build> and <source>.
  std::string portable(std::string text) const;
  /// The configure input that is newer than the last generation, or "".
  std::string newer_input() const;
  /// The tool's own folder in the build tree.
  fs::path logs() const { return build / "cpize-logs"; }
  fs::path locks() const { return build / "cpize-locks"; }
  fs::path log() const { return build / "cpize-log.jsonl"; }
};

Plan load_plan(const fs::path& file);

/// The plan that a command means: `given` (a file or a build directory), else the one in or below the current
/// directory.
fs::path find_plan(const std::string& given);

}  // namespace cpize::tool
