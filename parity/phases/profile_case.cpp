#include "parity/phases/profile_case.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include "error/error.hpp"
#include "parity/harness/artifact.hpp"
#include "parity/harness/environment.hpp"
#include "profile/step_times.hpp"

namespace cpize::parity {
namespace {

using profile::Phase;
using profile::StepMemory;
using profile::Work;

constexpr double kAttributed = 0.95;

template <class... Values>
std::string line(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

/// Of every scope that allocated, the most that its own allocations held on any rank.
std::map<std::string, std::int64_t> own_peaks(const std::vector<StepMemory>& ranks) {
  std::map<std::string, std::int64_t> most;
  for (const auto& rank : ranks)
    for (const auto& [path, bytes] : rank.own_peak)
      if (!path.empty()) most[path] = std::max(most[path], bytes);
  return most;
}

std::string budget_problem(const ProfileCase& c, const std::map<std::string, std::int64_t>& own,
                           const MeshShape& mesh) {
  std::string without, over;
  for (const auto& [path, bytes] : own) {
    const auto budget = c.budgets().find(path);
    if (budget == c.budgets().end())
      without += " " + path;
    else if (static_cast<double>(bytes) > budget->second(mesh))
      over += line(" %s holds %.0f bytes of %.0f;", path.c_str(), static_cast<double>(bytes), budget->second(mesh));
  }
  if (!without.empty()) return "no budget for:" + without;
  return over.empty() ? "" : "over budget:" + over;
}

std::string scope_problem(const ProfileCase& c, const std::vector<StepMemory>& ranks) {
  std::set<std::string> seen;
  double share = 1;
  for (const auto& rank : ranks) {
    share = std::min(share, rank.attributed_share());
    for (const auto& [place, bytes] : rank.totals) seen.insert(place.path);
  }
  for (const auto& [scope, budget] : c.budgets())
    if (!seen.contains(scope)) return "nothing was booked to " + scope;
  return share < kAttributed ? line("only %.1f %% of some rank's peak is in named scopes", 100 * share) : "";
}

std::string memory_table(const ProfileCase& c, const std::vector<StepMemory>& ranks, const MeshShape& mesh) {
  const auto busiest =
      std::max_element(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.peak < b.peak; });
  std::string text =
      line("Peak of the busiest rank: %.0f bytes above inputs and parameters.\n\n", static_cast<double>(busiest->peak));
  text +=
      "| scope | at the peak | most of its own, any rank | budget | allocated in a wider dtype "
      "|\n|---|---|---|---|---|\n";
  for (const auto& [path, bytes] : own_peaks(ranks)) {
    double at_peak = 0, wide = 0;
    for (const auto& [place, held] : busiest->at_peak)
      if (place.path == path) at_peak += static_cast<double>(held);
    for (const auto& [place, totals] : busiest->totals)
      if (place.path == path) wide += static_cast<double>(totals.wide);
    const auto budget = c.budgets().find(path);
    text += line("| `%s` | %.0f | %.0f | %.0f | %.0f |\n", path.c_str(), at_peak, static_cast<double>(bytes),
                 budget == c.budgets().end() ? 0.0 : budget->second(mesh), wide);
  }
  return text;
}

std::string time_table(const profile::ComputeProfile& profile) {
  const auto& step = profile.slowest();
  std::string text = line(
      "\nThe slowest rank's step: %.2f ms, of them %.2f computing, %.2f packing, %.2f handing over and waiting; "
      "%lld collectives, %lld bytes sent.\n\n",
      1e3 * step.wall, 1e3 * step.seconds(Work::compute), 1e3 * step.seconds(Work::pack),
      1e3 * step.seconds(Work::transfer), static_cast<long long>(step.collectives),
      static_cast<long long>(step.sent_bytes));
  text += "| scope | phase | compute ms | packing ms | transfer ms |\n|---|---|---|---|---|\n";
  for (const auto& [place, seconds] : step.own)
    text +=
        line("| `%s` | %s | %.3f | %.3f | %.3f |\n", place.path.empty() ? "(none)" : place.path.c_str(),
             std::string(profile::name_of(place.phase)).c_str(), 1e3 * seconds[0], 1e3 * seconds[1], 1e3 * seconds[2]);
  return text;
}

}  // namespace

ProfileCase& ProfileCase::step(profile::MakeStep make) {
  step_ = std::move(make);
  return *this;
}

ProfileCase& ProfileCase::budget(const std::string& scope, Budget bytes) {
  budgets_[scope] = std::move(bytes);
  return *this;
}

ProfileCase& ProfileCase::dtype(at::ScalarType dtype) {
  dtype_ = dtype;
  return *this;
}

Measurement measure_profile(const ProfileCase& c, const Request& request) {
  if (!c.step() || c.budgets().empty())
    throw ContractError("profile of " + c.model() + ": needs step() and a budget() for every scope");
  Measurement m("profile");
  describe_environment(m);
  std::string document = "# Memory and time of a step: " + c.model() + "\n";
  for (const auto& name : request.cells) {
    const auto cell_name = CellName::parse(name);
    cell_name.require_threads_fp64_cpu();
    const MeshShape mesh = MeshShape::parse(cell_name.mesh);
    const auto ranks = profile::measure_memory(mesh, c.step(), c.dtype());
    const auto one = profile::measure_memory(MeshShape(mesh.extent(Axis::dp), 1, 1), c.step(), c.dtype());
    const auto times = profile::measure_times(mesh, c.step());

    Cell& cell = m.cell(name);
    const auto own = own_peaks(ranks);
    cell.fact("budget_checked", fact_unless(budget_problem(c, own, mesh)));
    cell.fact("scopes_attributed", fact_unless(scope_problem(c, ranks)));
    double peak = 0, peak_one = 0;
    for (const auto& rank : ranks) peak = std::max(peak, static_cast<double>(rank.peak));
    for (const auto& rank : one) peak_one = std::max(peak_one, static_cast<double>(rank.peak));
    cell.counter("peak_bytes.step", peak);
    cell.counter("peak_bytes.step.one_rank", peak_one);
    for (const auto& [path, bytes] : own)
      if (const auto budget = c.budgets().find(path); budget != c.budgets().end())
        cell.counter("own_peak_bytes." + path, static_cast<double>(bytes), budget->second(mesh));
    cell.counter("step_ms", 1e3 * times.slowest().wall);
    cell.counter("sent_bytes.step", static_cast<double>(times.slowest().sent_bytes));
    document += "\n## Mesh " + cell_name.mesh + "\n\n" + memory_table(c, ranks, mesh);
    document += line("\nOne rank alone: %.0f bytes, %.2f times the busiest rank of the mesh.\n", peak_one,
                     peak > 0 ? peak_one / peak : 0.0);
    document += time_table(times);
  }
  write_artifact(request, document);
  return m;
}

}  // namespace cpize::parity
