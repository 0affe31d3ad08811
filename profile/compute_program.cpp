// cpize_profile_compute, phase 6: the time of a training step of the pair slice by scope, communication against
// computation; writes docs/nsys_report.md (the task's artifact) and Chrome traces beside it. By hand: --mesh 1x2x2
// --size N=96,C=64.
#include <algorithm>
#include <filesystem>
#include <thread>

#include "parity/harness/artifact.hpp"
#include "parity/harness/environment.hpp"
#include "parity/harness/request.hpp"
#include "profile/compute_report.hpp"

namespace cpize::profile {
namespace {

using parity::Measurement;
using parity::Request;

/// A trace beside the artifact; none for a run by hand.
std::string trace_path(const Request& request, const std::string& mesh) {
  if (request.artifact.empty()) return "";
  const std::filesystem::path artifact(request.artifact);
  std::filesystem::create_directories(artifact.parent_path());
  return (artifact.parent_path() / (artifact.stem().string() + "." + mesh + ".trace.json")).string();
}

/// What speaks against the claim that communication was seen: "" if nothing does.
std::string communication_doubt(const ComputeProfile& profile) {
  for (std::size_t rank = 0; rank < profile.ranks.size(); ++rank) {
    const StepTimes& t = profile.ranks[rank];
    const std::string who = "rank " + std::to_string(rank);
    if (t.collectives_seen != t.collectives)
      return who + " entered " + std::to_string(t.collectives) + " collectives, the trace shows " +
             std::to_string(t.collectives_seen);
    if (t.collectives > 0 && !(t.seconds(Work::transfer) > 0)) return who + " spent no time in its collectives";
    if (!(t.seconds(Work::compute) > 0)) return who + " spent no time in computation";
  }
  return "";
}

Measurement measure(const Request& request) {
  Measurement m("profile");
  parity::describe_environment(m);
  std::vector<MeasuredTimes> runs;
  for (const auto& name : request.cells) {
    const auto cell_name = parity::CellName::parse(name);
    cell_name.require_threads_fp64_cpu();
    const MeshShape mesh = MeshShape::parse(cell_name.mesh);
    const SliceSize size{mesh.extent(Axis::dp), request.size_or("N", 96), request.size_or("C", 64)};
    const SliceProblem problem = make_slice_problem(size);
    runs.push_back({size, mesh, profile_port_compute(problem, mesh, trace_path(request, mesh.str()))});
    const ComputeProfile port = runs.back().profile;
    runs.push_back({size, {}, profile_serial_compute(problem, trace_path(request, "serial"))});
    const StepTimes &slowest = port.slowest(), &serial = runs.back().profile.slowest();

    double attributed = 1;
    for (const auto& rank : port.ranks) attributed = std::min(attributed, rank.attributed() / rank.wall);
    std::string unscoped;
    if (attributed < 0.95)
      unscoped = "only " + std::to_string(100 * attributed) + " % of some rank's step is in named scopes";
    for (const auto& scope : slice_scopes())
      if (!slowest.own.contains({scope, Phase::forward})) unscoped = "no time was booked to " + scope;
    parity::Cell& cell = m.cell(name);
    cell.fact("scopes_attributed", parity::fact_unless(unscoped));
    cell.fact("budget_checked", parity::fact_unless(communication_doubt(port)));
    cell.counter("unattributed_share", 1 - attributed, 0.05);
    cell.counter("step_ms", 1e3 * slowest.wall);
    cell.counter("step_ms.serial", 1e3 * serial.wall);
    cell.counter("communication_share", (slowest.seconds(Work::pack) + slowest.seconds(Work::transfer)) / slowest.wall);
    cell.counter("communication_bound_stages", static_cast<double>(communication_bound(slowest).size()));
    cell.counter("sent_bytes.step", static_cast<double>(slowest.sent_bytes));
  }
  parity::write_artifact(request, compute_report(runs, static_cast<int>(std::thread::hardware_concurrency())));
  return m;
}

}  // namespace
}  // namespace cpize::profile

int main(int argc, char** argv) { return cpize::parity::run_program(argc, argv, cpize::profile::measure); }
