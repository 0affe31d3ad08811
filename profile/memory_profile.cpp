#include "profile/memory_profile.hpp"

#include <algorithm>
#include <cstdio>

#include "comm/run_ranks.hpp"

namespace cpize::profile {
namespace {

std::string exceeded(const std::string& what, double bytes, double budget) {
  if (bytes <= budget) return "";
  char text[200];
  std::snprintf(text, sizeof text, "%s holds %.0f bytes, its budget is %.0f", what.c_str(), bytes, budget);
  return text;
}

template <class Map>
double value_or_zero(const Map& map, const typename Map::key_type& key) {
  const auto at = map.find(key);
  return at == map.end() ? 0.0 : static_cast<double>(at->second);
}

}  // namespace

double MemoryProfile::saved_of(const std::string& scope) const {
  double sum = 0;
  for (const auto& [place, bytes] : saved)
    if (place.path == scope) sum += static_cast<double>(bytes);
  return sum;
}

double MemoryProfile::own_peak_of(const std::string& scope) const { return value_or_zero(own_peak, scope); }

std::string MemoryProfile::over_budget() const {
  for (const auto& budget : budgets) {
    for (const std::string& line :
         {exceeded(budget.scope + " in forward", value_or_zero(own_forward_peak, budget.scope), budget.forward),
          exceeded(budget.scope + " for backward", saved_of(budget.scope), budget.saved),
          exceeded(budget.scope + " in a step", own_peak_of(budget.scope), budget.step)})
      if (!line.empty()) return line;
  }
  return whole ? exceeded("a step", static_cast<double>(peak), whole->step) : "";
}

MemoryProfile profile_serial_memory(const CaseProblem& problem) {
  SerialCaseRun run(problem);
  return {measure_memory([&](const AfterForward& after_forward) { run.step(after_forward); }, problem.setting.dtype),
          0,
          {},
          {}};
}

MemoryProfile profile_port_memory(const ProfiledModel& model, const CaseProblem& problem) {
  std::vector<MemoryProfile> ranks(problem.setting.mesh.size());
  const parity::CostPoint point = cost_point(problem);
  comm::run_ranks(problem.setting.mesh, [&](const MeshPtr& mesh) {
    PortCaseRun run(problem, mesh);
    MemoryProfile profile{
        measure_memory([&](const AfterForward& after_forward) { run.step(after_forward); }, problem.setting.dtype),
        run.parameter_bytes(),
        model.budgets(point, [&](const auto& scope) { return parameter_bytes_of(model, run.module(), scope); }),
        model.whole(point, static_cast<double>(run.parameter_bytes()))};
    ranks[mesh->rank()] = std::move(profile);
  });
  // A budget that any rank exceeds is exceeded; among equals the rank with the highest peak speaks.
  return *std::max_element(ranks.begin(), ranks.end(), [](const MemoryProfile& a, const MemoryProfile& b) {
    return std::pair{!a.over_budget().empty(), a.peak} < std::pair{!b.over_budget().empty(), b.peak};
  });
}

}  // namespace cpize::profile
