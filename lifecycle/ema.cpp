#include "lifecycle/ema.hpp"

#include <ATen/ATen.h>

#include <algorithm>

#include "error/error.hpp"

namespace cpize::lifecycle {

Ema::Ema(const NamedTensors& state, EmaOptions options) : options_(options) {
  if (!(options_.decay >= 0 && options_.decay <= 1) || options_.every < 1)
    throw ConfigError("EMA: decay must lie in [0, 1] and 'every' be at least 1");
  for (const auto& [name, tensor] : state) {
    if (!tensor.is_floating_point()) continue;
    weights_.emplace_back(name, tensor);
    average_.emplace_back(name, tensor.detach().clone());
  }
}

void Ema::update(std::int64_t step) {
  if (step < options_.start || step % options_.every != 0) return;
  at::NoGradGuard no_grad;
  const auto t = static_cast<double>(step);
  const double decay = options_.warm_start ? std::min(options_.decay, (1 + t) / (10 + t)) : options_.decay;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const at::Tensor difference = average_[i].second - weights_[i].second.detach();
    average_[i].second.sub_(difference.mul_(1 - decay));
  }
}

}  // namespace cpize::lifecycle
