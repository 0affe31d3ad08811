// Runs the pair slice under memory attribution, serial or on a mesh, and says what the busiest rank held.
#pragma once
#include <cstdint>
#include <optional>

#include "profile/memory_budget.hpp"
#include "profile/step_memory.hpp"

namespace cpize::profile {

struct MemoryProfile : StepMemory {
  std::int64_t parameter_bytes = 0, output_bytes = 0;
  std::vector<ScopeBudget> budgets;  // empty for serial
  std::optional<ScopeBudget> whole;

  /// Own saved bytes of a scope: without its output, which the next scope uses.
  double saved_of(const std::string& scope) const;
  /// The first budget that is exceeded, in words; "" if none is.
  std::string over_budget() const;
};

/// One step of the serial slice.
MemoryProfile profile_serial_memory(const SliceProblem& problem);
/// One step on `mesh`, ranks as threads; of the rank with the highest peak.
MemoryProfile profile_port_memory(const SliceProblem& problem, const MeshShape& mesh);

}  // namespace cpize::profile
