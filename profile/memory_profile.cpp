#include "profile/memory_profile.hpp"

#include <algorithm>
#include <cstdio>

#include "comm/run_ranks.hpp"

namespace cpize::profile {
namespace {

/// Everything but the budgets.
template <class Run>
MemoryProfile profile_step(Run& run, at::ScalarType dtype) {
  return {measure_memory([&](const AfterForward& after_forward) { run.step(after_forward); }, dtype), 0, 0, {}, {}};
}

/// Scopes whose result is one z, in the memory of the scope.
bool makes_z(const std::string& scope) {
  return scope == "pair_init" || scope == "tri_mul_out" || scope == "tri_mul_in" || scope == "transition_z";
}

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
  return sum - (makes_z(scope) ? static_cast<double>(output_bytes) : 0.0);
}

std::string MemoryProfile::over_budget() const {
  for (const auto& budget : budgets) {
    for (const std::string& line :
         {exceeded(budget.scope + " in forward", value_or_zero(own_forward_peak, budget.scope), budget.forward),
          exceeded(budget.scope + " for backward", saved_of(budget.scope), budget.saved),
          exceeded(budget.scope + " in a step", value_or_zero(own_peak, budget.scope), budget.step)})
      if (!line.empty()) return line;
  }
  return whole ? exceeded("a step of the slice", static_cast<double>(peak), whole->step) : "";
}

MemoryProfile profile_serial_memory(const SliceProblem& problem) {
  SerialSliceRun run(problem);
  run.clear_gradients();
  MemoryProfile profile = profile_step(run, problem.size.dtype);
  profile.output_bytes = static_cast<std::int64_t>(problem.output_gradient.nbytes());
  run.clear_gradients();
  return profile;
}

MemoryProfile profile_port_memory(const SliceProblem& problem, const MeshShape& shape) {
  std::vector<MemoryProfile> ranks(shape.size());
  comm::run_ranks(shape, [&](const MeshPtr& mesh) {
    PortSliceRun run(problem, mesh);
    MemoryProfile profile = profile_step(run, problem.size.dtype);
    profile.parameter_bytes = run.parameter_bytes();
    profile.output_bytes = run.output_bytes();
    profile.budgets =
        slice_budgets(problem.size, shape, [&](const auto& scope) { return run.parameter_bytes_of(scope); });
    profile.whole = step_budget(problem.size, shape, run.parameter_bytes());
    ranks[mesh->rank()] = std::move(profile);
  });
  // A budget that any rank exceeds is exceeded; among equals the rank with the highest peak speaks.
  return *std::max_element(ranks.begin(), ranks.end(), [](const MemoryProfile& a, const MemoryProfile& b) {
    return std::pair{!a.over_budget().empty(), a.peak} < std::pair{!b.over_budget().empty(), b.peak};
  });
}

}  // namespace cpize::profile
