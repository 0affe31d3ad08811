// Compare: the one function that says how far a result is from serial and how far it may be. Sabotage is judged by it,
// too.
//
// fp64: tolerance = 16 eps sqrt(K) scale. 16: four roundings a term, four standard deviations. K: the
// number of terms that one element's sums pass through, one after the other; their rounding errors are independent and
// grow with its root.
//   outputs              K = the case's contraction lengths
//   input gradients      2 K: the forward pass that they use, and their own
//   parameter gradients  2 K + the positions (B, N, N) that they are summed over
// scale: the largest value of serial's tensor. Where serial's is zero, or zero in exact arithmetic (zero_gradient()),
// the largest of its kind (outputs, input gradients, parameter gradients), since that is what cancels.
// fp32 and bf16: quantiles.hpp.
#pragma once
#include <string>
#include <vector>

#include "parity/harness/execute.hpp"

namespace cpize::parity {

/// Largest absolute difference of every output, input gradient and parameter gradient; NaN where either has one.
/// Names: "output z", "input gradient z", "gradient norm_in.weight".
std::vector<Difference> compare(const BlockCase& block, const SerialRun& serial, const Results& port);

/// The first that is over its tolerance or no number; null if none is.
const Difference* first_failure(const std::vector<Difference>& differences);

/// Keeps, for each name, the one nearest to (or furthest over) its tolerance.
void keep_worst(std::vector<Difference>& worst, const std::vector<Difference>& more, const std::string& run);

/// The largest absolute value, 0 of an empty tensor.
double largest(const at::Tensor& x);

}  // namespace cpize::parity
