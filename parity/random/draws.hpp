// What the tests of draws share: statistics with their standard errors.
#pragma once
#include <ATen/ATen.h>

#include <cmath>

namespace cpize::parity {

/// Greatest distance between the empirical distribution of `x` (any shape, fp64) and a continuous one, given the
/// latter's distribution function as a tensor operation. Times sqrt(count): Kolmogorov's statistic, above 2.3 once in
/// 20,000 samples of the right distribution.
template <class Cdf>
double kolmogorov(const at::Tensor& x, const Cdf& cdf) {
  const at::Tensor sorted = std::get<0>(x.reshape(-1).sort());
  const std::int64_t n = sorted.numel();
  const at::Tensor at = cdf(sorted), rank = at::arange(n, at::kDouble) / static_cast<double>(n);
  const double above = (rank + 1.0 / static_cast<double>(n) - at).max().template item<double>();
  const double below = (at - rank).max().template item<double>();
  return std::max(above, below) * std::sqrt(static_cast<double>(n));
}

inline at::Tensor uniform_cdf(const at::Tensor& x) { return x.clamp(0, 1); }
inline at::Tensor normal_cdf(const at::Tensor& x) { return at::erfc(-x / std::sqrt(2.0)) * 0.5; }

/// Correlation coefficient of equally many numbers, times sqrt(count): about standard normal where they are
/// independent.
inline double correlation(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.reshape(-1).to(at::kDouble), y = b.reshape(-1).to(at::kDouble);
  const at::Tensor u = x - x.mean(), v = y - y.mean();
  const double scale = std::sqrt((u * u).sum().item<double>() * (v * v).sum().item<double>());
  return (u * v).sum().item<double>() / scale * std::sqrt(static_cast<double>(x.numel()));
}

}  // namespace cpize::parity
