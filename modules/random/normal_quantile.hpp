// The quantile function of the standard normal distribution from correctly rounded operations alone, in a fixed order:
// the same bits on a CPU and on a GPU. For host and device code.
//
// Wichura, Algorithm AS 241 (PPND16), Applied Statistics 37 (1988): rational approximations of degree 7 with relative
// error below 1e-16, one for the middle, two for the tails, where the variable is sqrt(-log p). The logarithm is a
// series of our own. Together within 1e-15 of the exact quantile, relative.
//
// On the host, translation units that include this are compiled with -ffp-contract=off, and the functions are static,
// so that no other unit's copy is linked in their place; in device code the operations are intrinsics that the compiler
// does not contract.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#include "random/philox.hpp"

namespace cpize::random {
namespace ieee {

CPIZE_HOST_DEVICE static inline double add(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}
CPIZE_HOST_DEVICE static inline double multiply(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}
CPIZE_HOST_DEVICE static inline double divide(double a, double b) {
#ifdef __CUDA_ARCH__
  return __ddiv_rn(a, b);
#else
  return a / b;
#endif
}
CPIZE_HOST_DEVICE static inline double square_root(double a) {
#ifdef __CUDA_ARCH__
  return __dsqrt_rn(a);
#else
  return std::sqrt(a);
#endif
}

/// Horner's rule; coefficients from the constant upwards.
template <int count>
CPIZE_HOST_DEVICE static inline double polynomial(const double (&coefficient)[count], double x) {
  double sum = coefficient[count - 1];
  for (int i = count - 2; i >= 0; --i) sum = add(multiply(sum, x), coefficient[i]);
  return sum;
}

/// Natural logarithm of a positive, normal, finite number. x = 2^e m with m in [sqrt(1/2), sqrt(2)), and
/// log m = 2 (f + f^3/3 + f^5/5 + ...), f = (m - 1) / (m + 1), |f| < 0.1716: eleven terms leave 1e-18 of it.
CPIZE_HOST_DEVICE static inline double logarithm(double x) {
  constexpr double kSeries[] = {2.0,        2.0 / 3.0,  2.0 / 5.0,  2.0 / 7.0,  2.0 / 9.0, 2.0 / 11.0,
                                2.0 / 13.0, 2.0 / 15.0, 2.0 / 17.0, 2.0 / 19.0, 2.0 / 21.0};
  // log 2 in two parts: the first has 32 leading bits, so that its product with an exponent is exact.
  constexpr double kLog2High = 0x1.62e42feep-1, kLog2Low = 0x1.a39ef35793c76p-33;
  constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1, kRootHalf = 0x3FE6A09E667F3BCDu;
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  const std::uint64_t shifted = bits - kRootHalf;  // the exponent field of x / sqrt(1/2), as a signed number
  const auto exponent = static_cast<std::int64_t>(shifted) >> 52;
  const std::uint64_t m_bits = (shifted & kMantissa) + kRootHalf;
  double m;
  std::memcpy(&m, &m_bits, sizeof(m));
  const double f = divide(add(m, -1.0), add(m, 1.0));
  const double log_m = multiply(f, polynomial(kSeries, multiply(f, f)));
  const auto e = static_cast<double>(exponent);
  return add(multiply(e, kLog2High), add(multiply(e, kLog2Low), log_m));
}

}  // namespace ieee

/// x > 0 with P(X > x) = p for a standard normal X; 0 < p < 1/2, a multiple of 2^-54 (so that 1/2 - p is exact).
CPIZE_HOST_DEVICE static inline double upper_quantile(double p) {
  constexpr double kMiddleAbove[] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                                     1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                                     3.3430575583588128105e4, 2.5090809287301226727e3};
  constexpr double kMiddleBelow[] = {1.0,
                                     4.2313330701600911252e1,
                                     6.8718700749205790830e2,
                                     5.3941960214247511077e3,
                                     2.1213794301586595867e4,
                                     3.9307895800092710610e4,
                                     2.8729085735721942674e4,
                                     5.2264952788528545610e3};
  constexpr double kTailAbove[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                   3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                   2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr double kTailBelow[] = {1.0,
                                   2.05319162663775882187e0,
                                   1.67638483018380384940e0,
                                   6.89767334985100004550e-1,
                                   1.48103976427480074590e-1,
                                   1.51986665636164571966e-2,
                                   5.47593808499534494600e-4,
                                   1.05075007164441684324e-9};
  constexpr double kFarAbove[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                  2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                  2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr double kFarBelow[] = {1.0,
                                  5.99832206555887937690e-1,
                                  1.36929880922735805310e-1,
                                  1.48753612908506148525e-2,
                                  7.86869131145613259100e-4,
                                  1.84631831751005468180e-5,
                                  1.42151175831644588870e-7,
                                  2.04426310338993978564e-15};
  using namespace ieee;
  const double from_median = add(0.5, -p);
  if (from_median <= 0.425) {
    const double r = add(0.180625, -multiply(from_median, from_median));
    return multiply(from_median, divide(polynomial(kMiddleAbove, r), polynomial(kMiddleBelow, r)));
  }
  const double r = square_root(-logarithm(p));
  if (r <= 5) {
    const double t = add(r, -1.6);
    return divide(polynomial(kTailAbove, t), polynomial(kTailBelow, t));
  }
  const double t = add(r, -5.0);
  return divide(polynomial(kFarAbove, t), polynomial(kFarBelow, t));
}

}  // namespace cpize::random
