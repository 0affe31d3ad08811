// The largest number of tokens whose training step fits in a given number of bytes a rank.
#pragma once
#include <functional>
#include <vector>

#include "bench/block_run.hpp"

namespace cpize::bench {

/// Most bytes that a rank holds in one step of the slice at one size: features, parameters, output gradient and all.
struct StepMemory {
  std::int64_t tokens = 0, peak_bytes = 0;
  double seconds = 0;
};
StepMemory measure_step_memory(const profile::SliceSize& size, const std::optional<MeshShape>& mesh);

struct MaxTokens {
  std::int64_t fits = 0, does_not_fit = 0;  // both measured
  std::vector<StepMemory> probes;           // in the order in which they ran

  /// The probe at `fits`.
  const StepMemory& largest() const;
};

/// Brackets by extrapolation and bisects until the bracket is at most `resolution` of its lower end (at least 1 token).
/// No probe is larger than where the peak, extrapolated with the square of N from the largest size that fits, would
/// exceed the budget by a tenth. ConfigError where even `smallest` tokens do not fit.
MaxTokens find_max_tokens(std::int64_t budget, const std::function<StepMemory(std::int64_t)>& measure,
                          std::int64_t smallest = 16, double resolution = 0.02);

}  // namespace cpize::bench
