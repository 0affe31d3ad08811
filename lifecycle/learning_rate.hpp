// Learning rate of AlphaFold 3 and Boltz-2: linear warm-up, a plateau, then steps down.
#pragma once
#include <cstdint>

namespace cpize::lifecycle {

struct LearningRate {
  double base = 0;     // rate at step 0
  double peak = 5e-4;  // 1.8e-3 for confidence training
  std::int64_t warmup_steps = 1000;
  std::int64_t decay_after = 50'000;  // the last step of the plateau
  std::int64_t decay_every = 50'000;
  double decay_factor = 0.95;

  /// `step` counts optimizer steps done so far, so the first step trains with at(0):
  ///   base + step / warmup_steps * peak                                      up to warmup_steps
  ///   peak                                                                   up to decay_after
  ///   peak * decay_factor ^ (floor((step - decay_after) / decay_every) + 1)  beyond
  /// ConfigError where a length is not positive.
  double at(std::int64_t step) const;
};

}  // namespace cpize::lifecycle
