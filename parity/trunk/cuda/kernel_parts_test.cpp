// The order of channels in the kernels' output, and how sums over rows are cut: the parts that the host shares with the
// kernels.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>

#include "trunk/cuda/channel_order.hpp"
#include "trunk/cuda/weight_sums.hpp"
#include "trunk/row_panels.hpp"

namespace cpize::trunk {
namespace {

/// A kernel writes column L of each 32 where channel_of(L) stands, groups of 32 `stride` elements apart: a gather by
/// channel_positions must find channel c there.
TEST(ChannelOrder, PositionsInvertTheOrderThatKernelsWrite) {
  for (const auto [channels, stride, offset] : {std::array{128, 32, 0}, {256, 64, 0}, {256, 64, 32}, {512, 64, 32}}) {
    // A fragment's column L holds channel L; store_rows puts it at element channel_of(L).
    at::Tensor written = at::full({channels / 32 * stride}, -1, at::kLong);
    for (int column = 0; column < channels; ++column)
      written[column / 32 * stride + offset + cuda::channel_of(column % 32)] = column;
    const at::Tensor found = written.index_select(0, cuda::channel_positions(channels, stride, offset, at::kCPU));
    EXPECT_TRUE(at::equal(found, at::arange(channels, at::kLong))) << channels << " " << stride << " " << offset;
  }
}

TEST(ChannelOrder, IsAPermutationOfEach32) {
  for (int begin = 0; begin < 128; begin += 32) {
    std::set<int> seen;
    for (int column = begin; column < begin + 32; ++column) seen.insert(cuda::channel_of(column));
    EXPECT_EQ(seen.size(), 32u);
    EXPECT_EQ(*seen.begin(), begin);
    EXPECT_EQ(*seen.rbegin(), begin + 31);
  }
}

/// Four groups of a thread's columns are eight neighbouring channels: 16 bytes.
TEST(ChannelOrder, AThreadsColumnsAreNeighbours) {
  for (int t = 0; t < 4; ++t)
    for (int b = 0; b < 4; ++b)
      for (int e = 0; e < 2; ++e) EXPECT_EQ(cuda::channel_of(8 * b + 2 * t + e), 8 * t + 2 * b + e);
}

TEST(PartialSums, ArePowersOfTwoOfPartsThatAreNotTooShort) {
  for (const std::int64_t rows : {0, 1, 255, 256, 511, 512, 4096, 100'000, 262'144})
    for (const std::int64_t outputs : {1, 128, 136, 512, 1024, 4096}) {
      const std::int64_t parts = partial_sums(rows, outputs);
      EXPECT_GE(parts, 1);
      EXPECT_LE(parts, 128);
      EXPECT_EQ(parts & (parts - 1), 0);
      EXPECT_TRUE(parts == 1 || rows / parts >= 256);
    }
  EXPECT_EQ(partial_sums(262'144, 1024), 32);
  EXPECT_EQ(partial_sums(262'144, 128), 128);
}

TEST(OperandPanel, HoldsWholeTilesAndNotMoreThanAllRows) {
  for (const std::int64_t rows : {1, 63, 64, 65, 4095, 4097, 70'000, 4'194'304})
    for (const std::int64_t parts : {8, 16}) {
      const std::int64_t panel = operand_panel(rows, parts);
      EXPECT_EQ(panel % 64, 0);
      EXPECT_LT(panel, rows + 64);
      EXPECT_TRUE(panel % 4096 == 0 || panel >= rows);
      EXPECT_GE(panel * parts, rows);
    }
}

}  // namespace
}  // namespace cpize::trunk
