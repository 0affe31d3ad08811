// The same training run on one process, from other parts: the serial trunk, torch's own AdamW and clipping. With it,
// how far a mesh's run may be from it.
//
// Error budget. A mesh adds the same terms in another order, so each gradient element is off by at most
//   dg = 16 eps sqrt(K) max |g| of its tensor    (K: the terms of the sums that it passes through; as in
//   parity/harness)
// AdamW divides by sqrt(v): at each step an element of a weight moves apart by at most
//   4 lr dg / (sqrt(v / (1 - b2^t)) + epsilon) + 4 eps |w|
// (4: the numerator and the denominator react, twice each through the moments). The steps are added up, element by
// element. A loss is off by 16 eps sqrt(K) |L| and by sum |g| times what the weights are off.
#pragma once
#include "features/token_features.hpp"
#include "lifecycle/named_tensors.hpp"

namespace cpize::parity {

struct SerialTraining {
  std::vector<double> losses, loss_budgets;
  double first_gradient_norm = 0, first_gradient_norm_budget = 0;
  lifecycle::Tensors weights, averages, budgets;  // budgets: element by element, of both
};

SerialTraining train_serially(const features::Features& batch, std::int64_t steps);

}  // namespace cpize::parity
