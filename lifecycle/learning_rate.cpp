#include "lifecycle/learning_rate.hpp"

#include <cmath>
#include <string>

#include "error/error.hpp"

namespace cpize::lifecycle {

double LearningRate::at(std::int64_t step) const {
  if (warmup_steps < 1 || decay_every < 1) throw ConfigError("learning rate: warm-up and decay take at least one step");
  if (step < 0) throw ConfigError("learning rate: step " + std::to_string(step) + " is negative");
  if (step <= warmup_steps) return base + static_cast<double>(step) / static_cast<double>(warmup_steps) * peak;
  if (step <= decay_after) return peak;
  return peak * std::pow(decay_factor, static_cast<double>((step - decay_after) / decay_every + 1));
}

}  // namespace cpize::lifecycle
