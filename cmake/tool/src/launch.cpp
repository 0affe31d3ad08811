#include "launch.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "slots.hpp"
#include "text.hpp"

namespace cpize::tool {
namespace {

/// "1x2x3" -> 6; 0 where it is no mesh.
int ranks_of(const std::string& mesh) {
  int ranks = 1;
  for (const auto& extent : split(mesh, 'x')) {
    int n = 0;
    const auto [end, error] = std::from_chars(extent.data(), extent.data() + extent.size(), n);
    if (error != std::errc() || end != extent.data() + extent.size() || n < 1 || n > 1'000'000 / ranks) return 0;
    ranks *= n;
  }
  return mesh.empty() ? 0 : ranks;
}

/// A file that did not exist before, where the ranks of one launch meet.
class MeetingFile {
 public:
  explicit MeetingFile(const fs::path& folder) {
    fs::create_directories(folder);
    for (int i = 0;; ++i) {
      path_ = folder / fmt::format("rendezvous.{}.{}", ::getpid(), i);
      if (!fs::exists(path_)) break;
    }
  }
  ~MeetingFile() {
    std::error_code e;
    fs::remove(path_, e);
  }
  MeetingFile(const MeetingFile&) = delete;
  MeetingFile& operator=(const MeetingFile&) = delete;
  std::string str() const { return path_.string(); }

 private:
  fs::path path_;
};

ChildResult launch_mpi(const Plan& plan, const ChildSpec& program, const LaunchGroup& group) {
  ChildSpec child = program;
  child.command = {plan.mpiexec, "-n", std::to_string(group.ranks)};
  child.command.insert(child.command.end(), program.command.begin(), program.command.end());
  child.stop_signal = SIGTERM;  // the launcher ends its ranks, which are in groups of their own
  auto& e = child.environment;
  e["CPIZE_MPIEXEC"] = plan.mpiexec;                       // for a program that starts a second world
  e["OMPI_MCA_rmaps_base_oversubscribe"] = "1";            // tests have more ranks than cores,
  e["OMPI_MCA_mpi_yield_when_idle"] = "1";                 // so a rank that waits gives way,
  e["OMPI_MCA_hwloc_base_binding_policy"] = "none";        // and none is bound to a core
  e["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none";  // containers often forbid reading another's memory
  if (::geteuid() == 0) e["OMPI_ALLOW_RUN_AS_ROOT"] = e["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  return run_child(child);
}

ChildResult launch_nccl(const Plan& plan, const ChildSpec& program, const LaunchGroup& group) {
  const MeetingFile meeting(plan.logs());
  std::vector<ChildSpec> ranks;
  for (int rank = 0; rank < group.ranks; ++rank) {
    ChildSpec child = program;
    auto& e = child.environment;
    e["RANK"] = e["LOCAL_RANK"] = std::to_string(rank);
    e["WORLD_SIZE"] = e["LOCAL_WORLD_SIZE"] = std::to_string(group.ranks);
    e["CPIZE_RENDEZVOUS"] = meeting.str();
    child.append_log = program.append_log || rank > 0;
    ranks.push_back(std::move(child));
  }
  return run_children(ranks);
}

}  // namespace

CellPlace CellPlace::of(const std::string& cell) {
  const auto parts = split(cell, '/');
  if (parts.size() != 4) return {};
  return {ranks_of(parts[0]), parts[0], parts[1], parts[2], parts[3]};
}

Machine Machine::here(const Plan& plan) {
  return {gpus_here(), plan.cuda, !plan.mpiexec.empty() && ::access(plan.mpiexec.c_str(), X_OK) == 0};
}

std::string Machine::lacks_for(const std::string& cell) const {
  const CellPlace place = CellPlace::of(cell);
  if (place.backend == "mpi" && !mpi) return "no mpirun";
  if (place.device != "cuda") return "";
  if (!cuda) return "the build has no CUDA";
  if (gpus == 0) return "no GPU";
  const int needed = place.backend == "nccl" ? gpus_for(place.ranks) : 1;
  return needed <= gpus ? "" : fmt::format("{} GPUs needed, {} here", needed, gpus);
}

bool asks_for(const Plan& plan, const std::string& cell) {
  const CellPlace place = CellPlace::of(cell);
  return place.backend != "threads" && place.backend == plan.backend && place.ranks <= plan.world;
}

std::vector<LaunchGroup> launch_groups(const std::vector<std::string>& cells) {
  std::vector<LaunchGroup> groups;
  for (const auto& cell : cells) {
    const CellPlace place = CellPlace::of(cell);
    // ranks that are threads need no launcher, so their number does not matter; an unreadable name is the program's to
    // refuse
    const bool launched = place.backend == "mpi" || place.backend == "nccl";
    LaunchGroup wanted{
        launched ? place.backend : "threads", launched ? place.device : "cpu", launched ? place.ranks : 1, {}};
    auto at = std::ranges::find_if(groups, [&](const LaunchGroup& g) {
      return g.backend == wanted.backend && g.device == wanted.device && g.ranks == wanted.ranks;
    });
    if (at == groups.end()) at = groups.insert(groups.end(), std::move(wanted));
    at->cells.push_back(cell);
  }
  return groups;
}

ChildResult launch(const Plan& plan, const std::string& who, const ChildSpec& program, const LaunchGroup& group) {
  ChildSpec child = program;
  child.environment["CPIZE_CELLS"] = join(group.cells, " ");
  if (group.backend == "threads") return run_child(child);
  const int gpus = group.device != "cuda" ? 0 : group.backend == "nccl" ? gpus_for(group.ranks) : 1;
  const GpuLease lease = take_gpus(gpus, who);
  if (gpus > 0) child.environment["CUDA_VISIBLE_DEVICES"] = lease.visible();
  return group.backend == "mpi" ? launch_mpi(plan, child, group) : launch_nccl(plan, child, group);
}

}  // namespace cpize::tool
