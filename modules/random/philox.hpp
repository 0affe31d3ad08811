// Philox4x32-10: four random words as a function of a counter of four words and a key of two. For host and device code.
//
// Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011), section 3.3.
#pragma once
#include <cstdint>

#ifdef __CUDACC__
#define CPIZE_HOST_DEVICE __host__ __device__
#else
#define CPIZE_HOST_DEVICE
#endif

namespace cpize::random {

struct PhiloxWords {
  std::uint32_t word[4];
};
struct PhiloxKey {
  std::uint32_t word[2];
};

/// Ten rounds: the two even words are multiplied by constants, the halves of the products change places, mixed with
/// the odd words and the key; the key advances by a Weyl sequence.
CPIZE_HOST_DEVICE inline PhiloxWords philox4x32(PhiloxWords counter, PhiloxKey key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;  // golden ratio, sqrt(3) - 1
  auto [c0, c1, c2, c3] = counter.word;
  auto [k0, k1] = key.word;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = kMultiplier0 * c0, p1 = kMultiplier1 * c2;
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(p1);
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(p0);
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace cpize::random
