// The generator, its streams, and the quantile function.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "error/error.hpp"
#include "random/element.hpp"
#include "random/philox.hpp"
#include "random/stream.hpp"

namespace cpize::random {
namespace {

void expect_words(PhiloxWords counter, PhiloxKey key, PhiloxWords expected) {
  const PhiloxWords got = philox4x32(counter, key);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(got.word[i], expected.word[i]) << "word " << i;
}

TEST(Philox, GivesThePublishedVectors) {
  constexpr std::uint32_t ones = 0xffffffffu;
  expect_words({{0, 0, 0, 0}}, {{0, 0}}, {{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}});
  expect_words({{ones, ones, ones, ones}}, {{ones, ones}}, {{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}});
  expect_words({{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}}, {{0xa4093822u, 0x299f31d0u}},
               {{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}});
}

TEST(Stream, NamesAddUp) {
  const Stream root(7);
  EXPECT_EQ(root.child("trunk").child("dropout").name(), "trunk.dropout");
  const auto a = root.child("trunk").child("dropout").key(), b = root.child("trunk.dropout").key();
  EXPECT_EQ(bits_at(a, 11), bits_at(b, 11));
  EXPECT_EQ(root.child("x").at_step(5).child("y").step(), 5u);
  EXPECT_THROW(root.child(""), ContractError);
}

TEST(Stream, SeedNameStepAndIndexEachGiveOtherBits) {
  std::set<std::uint64_t> seen;
  int draws = 0;
  for (const std::uint64_t seed : {0ull, 1ull, 0x100000000ull, ~0ull})
    for (const char* name : {"", "a", "b", "a.b", "b.a", "ab"})
      for (const std::uint64_t step : {0ull, 1ull, 0x100000000ull})
        for (const std::int64_t index : {0ll, 1ll, 2ll, 3ll, 0x200000000ll, 0x200000001ll}) {
          seen.insert(bits_at(Stream(seed, name, step).key(), index));
          ++draws;
        }
  EXPECT_EQ(static_cast<int>(seen.size()), draws);
}

/// One bit of the seed, the step or the index changes half of the 64 bits: 32 +- 4 each, 32 +- 0.2 over 400 pairs.
TEST(Stream, OneBitChangesHalfOfTheResult) {
  double changed = 0;
  int pairs = 0;
  for (int bit = 0; bit < 50; ++bit)
    for (std::uint64_t i = 0; i < 3; ++i) {
      const std::uint64_t flip = std::uint64_t{1} << bit;
      const auto plain = bits_at(Stream(i, "s", i).key(), static_cast<std::int64_t>(i));
      changed += __builtin_popcountll(plain ^ bits_at(Stream(i ^ flip, "s", i).key(), static_cast<std::int64_t>(i)));
      changed += __builtin_popcountll(plain ^ bits_at(Stream(i, "s", i ^ flip).key(), static_cast<std::int64_t>(i)));
      changed += __builtin_popcountll(plain ^ bits_at(Stream(i, "s", i).key(), static_cast<std::int64_t>(i ^ flip)));
      pairs += 3;
    }
  EXPECT_NEAR(changed / pairs, 32, 5 * 4 / std::sqrt(pairs));
}

TEST(Logarithm, IsWithinTwoRoundings) {
  for (int e = -54; e <= 10; ++e)
    for (const double m : {1.0, 1.2, 1.4142135623730950, 1.4142135623730951, 1.7, 1.9999999999999998}) {
      const double x = std::ldexp(m, e);
      const long double exact = std::log(static_cast<long double>(x));
      EXPECT_NEAR(ieee::logarithm(x), static_cast<double>(exact), 4.5e-16 * std::fabs(static_cast<double>(exact))) << x;
    }
}

/// The error of a quantile is the error of its probability, divided by the density.
TEST(NormalQuantile, IsWithin1e15OfTheExactOne) {
  double worst = 0;
  const auto check = [&](std::uint64_t k) {
    const double p = static_cast<double>(2 * k + 1) * 0x1p-54;
    const long double x = upper_quantile(p), root = std::sqrt(2.0L);
    const long double tail = p > 0.25 ? 0.5L - std::erf(x / root) / 2 : std::erfc(x / root) / 2;
    const long double density = std::exp(-x * x / 2) * 0.39894228040143267793994605993438L;
    worst = std::max(worst, static_cast<double>(std::fabs((tail - p) / density / x)));
  };
  const std::uint64_t top = (std::uint64_t{1} << 52) - 1;
  for (int bit = 0; bit < 52; ++bit)
    for (std::uint64_t off = 0; off < 40; ++off) {
      check(((std::uint64_t{1} << bit) + off * 0x9E3779B97F4Au) & top);
      check(top - (((std::uint64_t{1} << bit) + off) & top));
    }
  check(0);
  check(top);
  EXPECT_LT(worst, 1e-15);
  EXPECT_GT(worst, 0);
}

TEST(NormalQuantile, JoinsItsPiecesWithoutAStep) {
  for (const double p : {0.075, std::exp(-25.0)}) {
    const double below = upper_quantile(p * (1 - 1e-9)), above = upper_quantile(p * (1 + 1e-9));
    EXPECT_GT(below, above);
    EXPECT_LT(below - above, 1e-8);
  }
}

}  // namespace
}  // namespace cpize::random
