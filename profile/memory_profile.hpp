// Runs a case under memory attribution, serial or on a mesh, and says what the busiest rank held.
#pragma once
#include <cstdint>
#include <optional>

#include "profile/profiled_model.hpp"
#include "profile/step_memory.hpp"

namespace cpize::profile {

struct MemoryProfile : StepMemory {
  std::int64_t parameter_bytes = 0;
  std::vector<ScopeBudget> budgets;  // empty for serial
  std::optional<ScopeBudget> whole;

  /// What a scope holds between forward and backward, its outputs among it.
  double saved_of(const std::string& scope) const;
  /// The most that its own allocations held in a step; 0 where it made none.
  double own_peak_of(const std::string& scope) const;
  /// The first budget that is exceeded, in words; "" if none is.
  std::string over_budget() const;
};

/// One step of the serial block.
MemoryProfile profile_serial_memory(const CaseProblem& problem);
/// One step on the problem's mesh, ranks as threads; of the rank with the highest peak.
MemoryProfile profile_port_memory(const ProfiledModel& model, const CaseProblem& problem);

}  // namespace cpize::profile
