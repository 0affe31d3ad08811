// Element: the number that a stream has at one global index. For host and device code.
#pragma once
#include "random/normal_quantile.hpp"
#include "random/stream.hpp"

namespace cpize::random {

/// 64 bits: half of Philox block index / 2.
CPIZE_HOST_DEVICE inline std::uint64_t bits_at(const StreamKey& key, std::int64_t index) {
  const std::uint64_t block = static_cast<std::uint64_t>(index) / 2;
  const PhiloxWords words =
      philox4x32({{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                   static_cast<std::uint32_t>(key.step), static_cast<std::uint32_t>(key.step >> 32)}},
                 key.key);
  return index % 2 == 0 ? (std::uint64_t{words.word[0]} << 32 | words.word[1])
                        : (std::uint64_t{words.word[2]} << 32 | words.word[3]);
}

CPIZE_HOST_DEVICE inline void uniform_of(std::uint64_t bits, double& value) {
  value = static_cast<double>(bits >> 11) * 0x1p-53;
}
CPIZE_HOST_DEVICE inline void uniform_of(std::uint64_t bits, float& value) {
  value = static_cast<float>(bits >> 40) * 0x1p-24f;
}

/// The leading bit is the sign, the trailing 52 bits k the probability (k + 1/2) 2^-53 of being further out.
CPIZE_HOST_DEVICE static inline void normal_of(std::uint64_t bits, double& value) {
  const std::uint64_t k = bits & ((std::uint64_t{1} << 52) - 1);
  const double x = upper_quantile(static_cast<double>(2 * k + 1) * 0x1p-54);
  value = bits >> 63 ? -x : x;
}
CPIZE_HOST_DEVICE static inline void normal_of(std::uint64_t bits, float& value) {
  double wide;
  normal_of(bits, wide);
  value = static_cast<float>(wide);
}

}  // namespace cpize::random
