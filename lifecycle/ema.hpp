// Ema: exponential moving average of the weights, which validation and prediction use.
//
//   d = min(decay, (1 + t) / (10 + t));   average <- average - (1 - d) (average - weight)
//
// Source: Boltz-2's EMA callback. Replicated weights only; no communication.
#pragma once
#include <cstdint>

#include "lifecycle/named_tensors.hpp"

namespace cpize::lifecycle {

struct EmaOptions {
  double decay = 0.999;
  bool warm_start = true;  // the smaller decay of the first steps
  std::int64_t every = 1;  // update at optimizer steps that are multiples of this
  std::int64_t start = 0;  // and not before this one
};

class Ema {
 public:
  /// Copies the floating-point tensors of `state` as the first average and follows them from now on.
  Ema(const NamedTensors& state, EmaOptions options);

  /// After the optimizer's step number `step` (the first is 1).
  void update(std::int64_t step);

  /// The averages, under the names of the weights. They share memory with this object: assign() to them restores it.
  const NamedTensors& average() const { return average_; }
  const EmaOptions& options() const { return options_; }

 private:
  EmaOptions options_;
  NamedTensors weights_, average_;
};

}  // namespace cpize::lifecycle
