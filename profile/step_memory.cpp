#include "profile/step_memory.hpp"

#include "comm/run_ranks.hpp"
#include "profile/operation_tally.hpp"

namespace cpize::profile {

double StepMemory::attributed_share() const {
  double named = 0;
  for (const auto& [place, bytes] : at_peak)
    if (!place.path.empty()) named += static_cast<double>(bytes);
  return peak > 0 ? named / static_cast<double>(peak) : 0.0;
}

StepMemory measure_memory(const Step& step, at::ScalarType dtype) {
  const ScopeTracker tracker;
  MemoryAttribution memory(tracker);
  const MemoryAttribution::Scope attached(memory);
  const OperationTally tally(tracker, &memory, dtype);
  StepMemory result;
  step([&] { result.saved = memory.now(); });
  result.peak = memory.peak_bytes();
  result.at_peak = memory.at_peak();
  result.totals = memory.totals();
  result.own_peak = memory.own_peak();
  result.own_forward_peak = memory.own_peak_in_forward();
  result.flops = tally.flops();
  return result;
}

std::vector<StepMemory> measure_memory(const MeshShape& shape, const MakeStep& make, at::ScalarType dtype) {
  std::vector<StepMemory> ranks(shape.size());
  comm::run_ranks(shape, [&](const MeshPtr& mesh) {
    const Step step = make(mesh);
    ranks[mesh->rank()] = measure_memory(step, dtype);
  });
  return ranks;
}

}  // namespace cpize::profile
