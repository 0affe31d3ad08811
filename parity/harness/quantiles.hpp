// Quantiles: fp32 and bf16 results are judged by the quantiles of their errors, against those of the serial block
// itself at the same dtype on the same device. The truth of both is serial in fp64, from the same (rounded) inputs and
// parameters.
//
//   allowed(q) = 2 serial(q) + u values(q) + u^2 values(max)      q = 50, 90, 99 %
//   allowed(max) = 4 serial(max) + 2 u values(max)
// serial(q): quantile of |serial at the dtype - truth|; values(q): of |truth|; u: unit roundoff of the dtype (2^-24,
// 2^-8). The factor 2 leaves room for another order of sums and for results that travel between ranks in the narrow
// dtype, which rounds them once more; the second term is that one rounding where serial happens to be exact, the third
// what is rounding of rounding: where most values are zero, none of the others says anything. A maximum is an extreme
// of as many draws as there are elements, and varies more: twice the room. A quantile is taken where at least 30
// elements lie on either side of it: below that it says little. Where serial's tensor is zero in exact arithmetic, the
// largest value of its kind stands for values(q).
#pragma once
#include <string>
#include <vector>

#include "parity/harness/compare.hpp"

namespace cpize::parity {

/// The same names as compare() for the largest errors, and "output z, 90 % quantile" for the others.
std::vector<Difference> compare_quantiles(const BlockCase& block, const SerialRun& serial, const Results& port);

/// Of `values` (fp64, any shape), in the order of `shares` (1: the maximum); NaN where one value is NaN.
std::vector<double> quantiles_of(const at::Tensor& values, const std::vector<double>& shares);

}  // namespace cpize::parity
