// The largest size (of tokens, say) whose step fits in a given number of bytes a rank.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

namespace cpize::parity {

/// Most bytes that a rank holds in one step at one size.
struct SizeProbe {
  std::int64_t tokens = 0, peak_bytes = 0;
  double seconds = 0;
};

struct MaxTokens {
  std::int64_t fits = 0, does_not_fit = 0;  // both measured
  std::vector<SizeProbe> probes;            // in the order in which they ran

  /// The probe at `fits`.
  const SizeProbe& largest() const;
};

/// Brackets by extrapolation and bisects until the bracket is at most `resolution` of its lower end (at least 1 token).
/// No probe is larger than where the peak, extrapolated with the square of N from the largest size that fits, would
/// exceed the budget by a tenth. ConfigError where even `smallest` tokens do not fit.
MaxTokens find_max_tokens(std::int64_t budget, const std::function<SizeProbe(std::int64_t)>& measure,
                          std::int64_t smallest = 16, double resolution = 0.02);

}  // namespace cpize::parity
