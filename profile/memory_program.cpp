// cpize_profile_memory, phase 6: the memory of a training step of the trunk by scope, against its budget; writes
// docs/mem_report.md (the task's artifact), on GPUs a snapshot for memory_viz beside it. By hand: --mesh 1x2x2 --size
// N=96,C=64; on a GPU: --cell 1x1x1/nccl/bf16/cuda --size N=1024 --out docs.
#include <cstdio>

#include "parity/harness/artifact.hpp"
#include "parity/harness/environment.hpp"
#include "parity/harness/ranks.hpp"
#include "profile/device_memory.hpp"
#include "profile/gpu_cell.hpp"
#include "profile/memory_report.hpp"
#include "profile/profiled_trunk.hpp"

namespace cpize::profile {
namespace {

using parity::Measurement;
using parity::Request;

MemoryScaling measure_scaling(const ProfiledModel& model, const CaseProblem& problem) {
  MemoryScaling scaling{problem.run.sizes["N"], problem.setting.mesh};
  for (const bool large : {false, true}) {
    parity::Sizes sizes = problem.run.sizes;
    sizes.set("N", scaling.tokens * (large ? 2 : 1));
    parity::Setting one = problem.setting;
    one.mesh = MeshShape(one.mesh.extent(Axis::dp), 1, 1);
    const auto peak = [&](const parity::Setting& setting) {
      return static_cast<double>(profile_port_memory(model, make_case_problem(model.block, sizes, setting)).peak);
    };
    (large ? scaling.one_large : scaling.one_small) = peak(one);
    (large ? scaling.mesh_large : scaling.mesh_small) = peak(problem.setting);
  }
  return scaling;
}

/// What speaks against the claim that the peak's scopes are known: "" if nothing does.
std::string scope_doubt(const ProfiledModel& model, const MemoryProfile& p) {
  std::string unscoped;
  for (const auto& scope : model.scopes) {
    bool seen = false;
    for (const auto& [place, bytes] : p.totals) seen = seen || place.path == scope;
    if (!seen) unscoped += (unscoped.empty() ? "nothing was booked to " : ", ") + scope;
  }
  if (unscoped.empty() && p.attributed_share() < 0.95)
    unscoped = "only " + std::to_string(100 * p.attributed_share()) + " % of the peak is in named scopes";
  return unscoped;
}

/// One rank's step on its GPU.
RankFindings measure_rank(const Request& request, const ProfiledModel& model, const CaseProblem& problem,
                          const MeshPtr& mesh) {
  const parity::Setting& setting = problem.setting;
  PortCaseRun run(problem, mesh);
  run.step();  // the allocator's cache, workspaces of cuBLAS, communicators of NCCL
  run.clear_gradients();
  const std::string snapshot = beside_artifact(request, setting.mesh.str() + "." + setting.dtype_name() + ".rank" +
                                                            std::to_string(mesh->rank()) + ".snapshot.pickle");
  const DeviceMemory memory = measure_device_memory([&](const AfterForward& after_forward) { run.step(after_forward); },
                                                    setting.device(), snapshot);
  MemoryProfile p{memory, run.parameter_bytes(), {}, {}};
  const parity::CostPoint point = cost_point(problem);
  // Stated in the width of the run: under autocast a scope's wider scratch weighs double, so the step's budget alone.
  if (!setting.autocast())
    p.budgets = model.budgets(point, [&](const auto& scope) { return parameter_bytes_of(model, run.module(), scope); });
  p.whole = model.whole(point, static_cast<double>(run.parameter_bytes()));
  RankFindings found;
  found.numbers = {{"peak_bytes.step", static_cast<double>(p.peak)},
                   {"peak_bytes.budget", p.whole->step},
                   {"peak_bytes.allocator", static_cast<double>(memory.allocator_peak)},
                   {"reserved_bytes", static_cast<double>(memory.reserved)},
                   {"unattributed_share", 1 - p.attributed_share()}};
  for (const auto& scope : model.scopes)
    if (const auto at = p.own_peak.find(scope); at != p.own_peak.end())
      found.numbers["own_peak_bytes." + scope] = static_cast<double>(at->second);
  const std::string doubt = memory.peak == memory.allocator_peak
                                ? p.over_budget()
                                : "the history's peak is " + std::to_string(memory.peak) + " bytes, the allocator's " +
                                      std::to_string(memory.allocator_peak);
  found.texts = {{"section", memory_section({title_of(problem), model.scopes, pair_shard_bytes(point), p,
                                             MeasuredMemory::Gpu{memory.reserved, snapshot}})},
                 {"scope doubt", scope_doubt(model, p)},
                 {"budget doubt", doubt}};
  return found;
}

void print_table(const std::string& name, const RankFindings& found) {
  const double budget = found.numbers.at("peak_bytes.budget");
  std::printf("%s, rank with the highest peak\n", name.c_str());
  for (const auto& [what, bytes] : found.numbers)
    if (what != "unattributed_share")
      std::printf("    %-36s %12.2f MiB  %6.1f %% of the budget\n", what.c_str(), bytes / 1048576,
                  100 * bytes / budget);
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
    const RankFindings& fullest = largest_by(ranks, "peak_bytes.step");
    sections.push_back(fullest.texts.at("section"));
    parity::Cell& cell = m.cell(name);
    cell.fact("scopes_attributed", parity::fact_unless(first_text(ranks, "scope doubt")));
    cell.fact("budget_checked", parity::fact_unless(first_text(ranks, "budget doubt")));
    for (const auto& [counter, value] : fullest.numbers) {
      if (counter == "unattributed_share" || counter == "peak_bytes.budget") continue;
      const bool bounded = counter == "peak_bytes.step";
      cell.counter(counter, value, bounded ? std::optional(fullest.numbers.at("peak_bytes.budget")) : std::nullopt);
    }
    cell.counter("unattributed_share", largest_by(ranks, "unattributed_share").numbers.at("unattributed_share"), 0.05);
    if (request.by_hand && parity::reports_here()) print_table(name, fullest);
  }
  if (parity::reports_here())
    parity::write_artifact(request,
                           gpu_memory_report(model.title, sections, device_name(parity::gpu_of_this_process())));
  return m;
}

Measurement measure_on_cpu(const Request& request) {
  Measurement m("profile");
  parity::describe_environment(m);
  const ProfiledModel model = profiled_trunk();
  std::vector<MeasuredMemory> runs;
  std::vector<MemoryScaling> scaling;
  for (const auto& name : request.cells) {
    const auto cell_name = parity::CellName::parse(name);
    cell_name.require_threads_fp64_cpu();
    const auto setting = parity::Setting::of(cell_name);
    parity::Cell& cell = m.cell(name);

    const CaseProblem problem = make_case_problem(model.block, sizes_by_hand(request, setting), setting);
    const parity::CostPoint point = cost_point(problem);
    const double b = pair_shard_bytes(point);
    runs.push_back({title_of(problem), model.scopes, b, profile_port_memory(model, problem)});
    const MemoryProfile port = runs.back().profile;
    runs.push_back({title_of(problem, true), model.scopes, b * point.q(), profile_serial_memory(problem)});
    const MemoryProfile serial = runs.back().profile;
    // In bf16 the sums and norms that must be wider show up.
    parity::Setting narrow = setting;
    narrow.dtype = at::kBFloat16;
    const CaseProblem rounded = make_case_problem(model.block, sizes_by_hand(request, narrow), narrow);
    runs.push_back({title_of(rounded), model.scopes, b / 4, profile_port_memory(model, rounded)});
    runs.back().profile.budgets.clear();  // stated in the width of the run: an up-cast weighs double there
    runs.back().profile.whole.reset();
    scaling.push_back(measure_scaling(model, problem));

    cell.fact("scopes_attributed", parity::fact_unless(scope_doubt(model, port)));
    cell.fact("budget_checked", parity::fact_unless(port.over_budget()));
    cell.counter("peak_bytes.step", static_cast<double>(port.peak), port.whole->step);
    for (const auto& budget : port.budgets)
      cell.counter("own_peak_bytes." + budget.scope, port.own_peak_of(budget.scope), budget.step);
    cell.counter("peak_bytes.serial", static_cast<double>(serial.peak));
    cell.counter("unattributed_share", 1 - port.attributed_share(), 0.05);
    cell.counter("peak_exponent_in_n", scaling.back().exponent_in_n(), 2.1);
    cell.counter("peak_excess_over_q", scaling.back().excess_over_q(), 1.25);
  }
  parity::write_artifact(request, memory_report(model.title, runs, scaling));
  return m;
}

Measurement measure(const Request& given) {
  const Request request = with_output_folder(given, "mem_report.md");
  const bool on_gpus = parity::CellName::parse(request.cells.front()).device == "cuda";
  return on_gpus ? measure_on_gpus(request) : measure_on_cpu(request);
}

}  // namespace
}  // namespace cpize::profile

int main(int argc, char** argv) { return cpize::parity::run_ranked_program(argc, argv, cpize::profile::measure); }
