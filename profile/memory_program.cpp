// cpize_profile_memory, phase 6: the memory of a training step of the pair slice by scope, against its budget; writes
// docs/mem_report.md (the task's artifact), on GPUs a snapshot for memory_viz beside it. By hand: --mesh 1x2x2 --size
// N=96,C=64; on a GPU: --cell 1x1x1/nccl/bf16/cuda --size N=1024 --out docs.
#include <cstdio>

#include "parity/harness/artifact.hpp"
#include "parity/harness/environment.hpp"
#include "parity/harness/ranks.hpp"
#include "profile/device_memory.hpp"
#include "profile/gpu_cell.hpp"
#include "profile/memory_report.hpp"

namespace cpize::profile {
namespace {

using parity::Measurement;
using parity::Request;

MemoryScaling measure_scaling(const SliceSize& size, const MeshShape& mesh) {
  MemoryScaling scaling{size.tokens, mesh};
  for (const bool large : {false, true}) {
    SliceSize at = size;
    at.tokens *= large ? 2 : 1;
    const SliceProblem problem = make_slice_problem(at);
    const MeshShape one(mesh.extent(Axis::dp), 1, 1);
    (large ? scaling.one_large : scaling.one_small) = static_cast<double>(profile_port_memory(problem, one).peak);
    (large ? scaling.mesh_large : scaling.mesh_small) = static_cast<double>(profile_port_memory(problem, mesh).peak);
  }
  return scaling;
}

/// What speaks against the claim that the peak's scopes are known: "" if nothing does.
std::string scope_doubt(const MemoryProfile& p) {
  std::string unscoped;
  for (const auto& scope : slice_scopes()) {
    bool seen = false;
    for (const auto& [place, bytes] : p.totals) seen = seen || place.path == scope;
    if (!seen) unscoped += (unscoped.empty() ? "nothing was booked to " : ", ") + scope;
  }
  if (unscoped.empty() && p.attributed_share() < 0.95)
    unscoped = "only " + std::to_string(100 * p.attributed_share()) + " % of the peak is in named scopes";
  return unscoped;
}

/// One rank's step on its GPU.
RankFindings measure_rank(const Request& request, const parity::Setting& setting, const MeshPtr& mesh) {
  const SliceSize size = gpu_slice_size(request, setting);
  PortSliceRun run(make_slice_problem(size), mesh);
  run.step();  // the allocator's cache, workspaces of cuBLAS, communicators of NCCL
  run.clear_gradients();
  const std::string snapshot = beside_artifact(request, setting.mesh.str() + "." + setting.dtype_name() + ".rank" +
                                                            std::to_string(mesh->rank()) + ".snapshot.pickle");
  const DeviceMemory memory =
      measure_device_memory([&](const AfterForward& after_forward) { run.step(after_forward); }, size.device, snapshot);
  MemoryProfile p{memory, run.parameter_bytes(), run.output_bytes(), {}, {}};
  // Stated in the width of the run: under autocast a scope's wider scratch weighs double, so the step's budget alone.
  if (!size.autocast)
    p.budgets = slice_budgets(size, setting.mesh, [&](const auto& scope) { return run.parameter_bytes_of(scope); });
  p.whole = step_budget(size, setting.mesh, run.parameter_bytes());
  RankFindings found;
  found.numbers = {{"peak_bytes.step", static_cast<double>(p.peak)},
                   {"peak_bytes.budget", p.whole->step},
                   {"peak_bytes.allocator", static_cast<double>(memory.allocator_peak)},
                   {"reserved_bytes", static_cast<double>(memory.reserved)},
                   {"unattributed_share", 1 - p.attributed_share()}};
  for (const auto& scope : slice_scopes())
    if (const auto at = p.own_peak.find(scope); at != p.own_peak.end())
      found.numbers["own_peak_bytes." + scope] = static_cast<double>(at->second);
  const std::string doubt = memory.peak == memory.allocator_peak
                                ? p.over_budget()
                                : "the history's peak is " + std::to_string(memory.peak) + " bytes, the allocator's " +
                                      std::to_string(memory.allocator_peak);
  found.texts = {{"section", memory_section({size, setting.mesh, p,
                                             MeasuredMemory::Gpu{title_of(setting, size), memory.reserved, snapshot}})},
                 {"scope doubt", scope_doubt(p)},
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
  std::vector<std::string> sections;
  for (const auto& name : request.cells) {
    const auto setting = parity::Setting::of(parity::CellName::parse(name));
    const auto ranks = on_every_gpu(setting, [&](const MeshPtr& mesh) { return measure_rank(request, setting, mesh); });
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
    parity::write_artifact(request, gpu_memory_report(sections, device_name(parity::gpu_of_this_process())));
  return m;
}

Measurement measure_on_cpu(const Request& request) {
  Measurement m("profile");
  parity::describe_environment(m);
  std::vector<MeasuredMemory> runs;
  std::vector<MemoryScaling> scaling;
  for (const auto& name : request.cells) {
    const auto cell_name = parity::CellName::parse(name);
    cell_name.require_threads_fp64_cpu();
    const MeshShape mesh = MeshShape::parse(cell_name.mesh);
    SliceSize size{mesh.extent(Axis::dp), request.size_or("N", 96), request.size_or("C", 64)};
    parity::Cell& cell = m.cell(name);

    const SliceProblem problem = make_slice_problem(size);
    runs.push_back({size, mesh, profile_port_memory(problem, mesh)});
    const MemoryProfile port = runs.back().profile;
    runs.push_back({size, {}, profile_serial_memory(problem)});
    const MemoryProfile serial = runs.back().profile;
    // In bf16 the sums and norms that must be wider show up.
    SliceSize narrow = size;
    narrow.dtype = at::kBFloat16;
    runs.push_back({narrow, mesh, profile_port_memory(make_slice_problem(narrow), mesh)});
    runs.back().profile.budgets.clear();  // stated in the width of the run: an up-cast weighs double there
    runs.back().profile.whole.reset();
    scaling.push_back(measure_scaling(size, mesh));

    cell.fact("scopes_attributed", parity::fact_unless(scope_doubt(port)));
    cell.fact("budget_checked", parity::fact_unless(port.over_budget()));
    cell.counter("peak_bytes.step", static_cast<double>(port.peak), port.whole->step);
    for (const auto& budget : port.budgets)
      cell.counter("own_peak_bytes." + budget.scope, static_cast<double>(port.own_peak.at(budget.scope)), budget.step);
    cell.counter("peak_bytes.serial", static_cast<double>(serial.peak));
    cell.counter("unattributed_share", 1 - port.attributed_share(), 0.05);
    cell.counter("peak_exponent_in_n", scaling.back().exponent_in_n(), 2.1);
    cell.counter("peak_excess_over_q", scaling.back().excess_over_q(), 1.25);
  }
  parity::write_artifact(request, memory_report(runs, scaling));
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
