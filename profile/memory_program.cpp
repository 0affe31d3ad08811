// cpize_profile_memory, phase 6: the memory of a training step of the pair slice by scope, against its budget; writes
// docs/mem_report.md (the task's artifact). By hand: --mesh 1x2x2 --size N=96,C=64.
#include "parity/harness/artifact.hpp"
#include "parity/harness/environment.hpp"
#include "parity/harness/request.hpp"
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

Measurement measure(const Request& request) {
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

    std::string unscoped;
    for (const auto& scope : slice_scopes()) {
      bool seen = false;
      for (const auto& [place, bytes] : port.totals) seen = seen || place.path == scope;
      if (!seen) unscoped += (unscoped.empty() ? "nothing was booked to " : ", ") + scope;
    }
    if (unscoped.empty() && port.attributed_share() < 0.95)
      unscoped = "only " + std::to_string(100 * port.attributed_share()) + " % of the peak is in named scopes";
    cell.fact("scopes_attributed", parity::fact_unless(unscoped));
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

}  // namespace
}  // namespace cpize::profile

int main(int argc, char** argv) { return cpize::parity::run_program(argc, argv, cpize::profile::measure); }
