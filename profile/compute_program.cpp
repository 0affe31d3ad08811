// cpize_profile_compute, phase 6: the time of a training step of the trunk by scope, communication against
// computation; writes docs/nsys_report.md (the task's artifact) and Chrome traces beside it. By hand: --mesh 1x2x2
// --size N=96,C=64; on a GPU: --cell 1x1x1/nccl/bf16/cuda --size N=1024 --out docs.
#include <algorithm>
#include <cstdio>
#include <thread>

#include "parity/harness/artifact.hpp"
#include "parity/harness/environment.hpp"
#include "parity/harness/ranks.hpp"
#include "profile/compute_report.hpp"
#include "profile/device_memory.hpp"
#include "profile/device_report.hpp"
#include "profile/device_step.hpp"
#include "profile/gpu_cell.hpp"
#include "profile/profiled_trunk.hpp"

namespace cpize::profile {
namespace {

using parity::Measurement;
using parity::Request;

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

/// The same for a rank on a GPU.
std::string communication_doubt(const DeviceTimes& t, int ranks) {
  if (t.collectives_seen != t.collectives)
    return "entered " + std::to_string(t.collectives) + " collectives, the trace shows " +
           std::to_string(t.collectives_seen);
  if (ranks > 1 && t.communication_kernels == 0) return "the trace shows no kernel of NCCL";
  return t.compute > 0 ? "" : "spent no time in computation";
}

/// What speaks against the claim that the kernels' scopes are known.
std::string scope_doubt(const ProfiledModel& model, const DeviceTimes& t) {
  if (t.without_launch > 0)
    return std::to_string(t.without_launch) + " of " + std::to_string(t.activities) + " kernels have no launch";
  if (t.attributed_share() < 0.95)
    return "only " + std::to_string(100 * t.attributed_share()) + " % of the kernels' time is in named scopes";
  for (const auto& scope : model.scopes)
    if (scope != "reduce_gradients" && !t.places.contains({scope, Phase::forward}))
      return "no kernel was booked to " + scope;
  return "";
}

/// One rank's step on its GPU.
RankFindings measure_rank(const Request& request, const ProfiledModel& model, const CaseProblem& problem,
                          const MeshPtr& mesh) {
  const parity::Setting& setting = problem.setting;
  PortCaseRun run(problem, mesh);
  const std::string trace = beside_artifact(request, setting.mesh.str() + "." + setting.dtype_name() + ".rank" +
                                                         std::to_string(mesh->rank()) + ".trace.json");
  const DeviceTimes t = measure_device_times(
      [&](const AfterForward& after_forward) {
        run.step(after_forward);
        run.clear_gradients();
      },
      mesh, setting.device(), trace);
  RankFindings found;
  found.numbers = {
      {"unattributed_share", 1 - t.attributed_share()}, {"step_ms", 1e3 * t.wall},
      {"step_ms.unprofiled", 1e3 * t.unprofiled},       {"compute_ms", 1e3 * t.compute},
      {"communication_ms", 1e3 * t.communication},      {"exposed_communication_ms", 1e3 * t.exposed},
      {"pack_ms", 1e3 * t.seconds(Work::pack)},         {"idle_ms", 1e3 * t.idle},
      {"idle_for_host_ms", 1e3 * t.idle_for_host},      {"sent_bytes.step", static_cast<double>(t.sent_bytes)}};
  found.texts = {{"section", device_section(title_of(problem), t, model.scopes, trace)},
                 {"exposed", exposed_by_name(t)},
                 {"communication doubt", communication_doubt(t, mesh->size())},
                 {"scope doubt", scope_doubt(model, t)}};
  return found;
}

void print_table(const std::string& name, const RankFindings& found) {
  std::printf("%s, slowest rank\n", name.c_str());
  for (const char* what : {"step_ms", "step_ms.unprofiled", "compute_ms", "communication_ms",
                           "exposed_communication_ms", "pack_ms", "idle_ms", "idle_for_host_ms"})
    std::printf("    %-28s %10.3f  %5.1f %%\n", what, found.numbers.at(what),
                100 * found.numbers.at(what) / found.numbers.at("step_ms"));
  std::printf("    exposed: %s\n", found.texts.at("exposed").c_str());
}

Measurement measure_on_gpus(const Request& request) {
  Measurement m("profile");
  parity::describe_environment(m);
  const ProfiledModel model = profiled_trunk();
  std::vector<std::string> sections;
  for (const auto& name : request.cells) {
    const auto setting = parity::Setting::of(parity::CellName::parse(name));
    const CaseProblem problem = make_case_problem(model.block, sizes_by_hand(request, setting), setting);
    const auto ranks =
        on_every_gpu(setting, [&](const MeshPtr& mesh) { return measure_rank(request, model, problem, mesh); });
    const RankFindings& slowest = largest_by(ranks, "step_ms");
    sections.push_back(slowest.texts.at("section"));
    parity::Cell& cell = m.cell(name);
    cell.fact("scopes_attributed", parity::fact_unless(first_text(ranks, "scope doubt")));
    cell.fact("budget_checked", parity::fact_unless(first_text(ranks, "communication doubt")));
    for (const auto& [counter, value] : slowest.numbers)
      if (counter != "unattributed_share") cell.counter(counter, value);
    cell.counter("unattributed_share", largest_by(ranks, "unattributed_share").numbers.at("unattributed_share"), 0.05);
    m.detail("exposed communication, " + name, slowest.texts.at("exposed"));
    if (request.by_hand && parity::reports_here()) print_table(name, slowest);
  }
  if (parity::reports_here())
    parity::write_artifact(request, device_report(model.title, sections, device_name(parity::gpu_of_this_process())));
  return m;
}

Measurement measure_on_cpu(const Request& request) {
  Measurement m("profile");
  parity::describe_environment(m);
  const ProfiledModel model = profiled_trunk();
  std::vector<MeasuredTimes> runs;
  for (const auto& name : request.cells) {
    const auto cell_name = parity::CellName::parse(name);
    cell_name.require_threads_fp64_cpu();
    const auto setting = parity::Setting::of(cell_name);
    const CaseProblem problem = make_case_problem(model.block, sizes_by_hand(request, setting), setting);
    const ComputeProfile port = measure_times(
        setting.mesh,
        [&](const MeshPtr& mesh) -> Step {
          auto run = std::make_shared<PortCaseRun>(problem, mesh);
          return [run](const AfterForward& after_forward) { run->step(after_forward); };
        },
        beside_artifact(request, setting.mesh.str() + ".trace.json"));
    runs.push_back({title_of(problem), model.scopes, false, port});
    SerialCaseRun alone(problem);
    runs.push_back({title_of(problem, true), model.scopes, true,
                    measure_times(
                        [&](const AfterForward& after_forward) {
                          alone.step(after_forward);
                          alone.clear_gradients();
                        },
                        beside_artifact(request, "serial.trace.json"))});
    const StepTimes &slowest = port.slowest(), &serial = runs.back().profile.slowest();

    double attributed = 1;
    for (const auto& rank : port.ranks) attributed = std::min(attributed, rank.attributed() / rank.wall);
    std::string unscoped;
    if (attributed < 0.95)
      unscoped = "only " + std::to_string(100 * attributed) + " % of some rank's step is in named scopes";
    for (const auto& scope : model.scopes)
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
  parity::write_artifact(request,
                         compute_report(model.title, runs, static_cast<int>(std::thread::hardware_concurrency())));
  return m;
}

Measurement measure(const Request& given) {
  const Request request = with_output_folder(given, "nsys_report.md");
  const bool on_gpus = parity::CellName::parse(request.cells.front()).device == "cuda";
  return on_gpus ? measure_on_gpus(request) : measure_on_cpu(request);
}

}  // namespace
}  // namespace cpize::profile

int main(int argc, char** argv) { return cpize::parity::run_ranked_program(argc, argv, cpize::profile::measure); }
