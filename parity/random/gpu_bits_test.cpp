// On a GPU: the bits of every draw are those of the CPU.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "parity/harness/bits.hpp"
#include "random/draw.hpp"

namespace cpize::random {
namespace {

using parity::same_bits;

const Stream stream(99, "gpu.bits", 0x1234567890ull);

TEST(GpuBits, WholeTensorsEqualTheCpu) {
  constexpr std::int64_t n = 20'000'003;  // about two in three million lie beyond five standard deviations
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const auto gpu = at::TensorOptions(at::kCUDA).dtype(dtype);
    EXPECT_TRUE(same_bits(uniform(stream, {n}, gpu).cpu(), uniform(stream, {n}, dtype)));
    EXPECT_TRUE(same_bits(normal(stream, {n}, gpu).cpu(), normal(stream, {n}, dtype)));
  }
}

TEST(GpuBits, ShardsEqualTheCpu) {
  const auto gpu = at::TensorOptions(at::kCUDA).dtype(at::kDouble);
  const MeshShape shape(2, 2, 3);
  for (int rank = 0; rank < shape.size(); ++rank) {
    const DeviceMesh mesh(shape, nullptr, rank);
    for (const Spec& spec : {Pair::spec, PairByChannel::spec, PairByCol::spec}) {
      const at::Tensor here = normal(stream, {3, 67, 67, 5}, spec, mesh, at::kDouble);
      const at::Tensor there = normal(stream, {3, 67, 67, 5}, spec, mesh, gpu);
      EXPECT_TRUE(same_bits(there.cpu(), here)) << spec.str() << " rank " << rank;
      EXPECT_EQ(there.strides(), here.strides());
    }
  }
}

/// Past 2^32 elements: only the far corner is drawn.
TEST(GpuBits, LargeIndicesEqualTheCpu) {
  const Shape global{1, 70'000, 70'000, 128};
  const Box corner{{0, 69'990, 69'900, 1}, {1, 10, 100, 127}};
  const auto gpu = at::TensorOptions(at::kCUDA).dtype(at::kDouble);
  EXPECT_TRUE(same_bits(normal(stream, global, corner, gpu).cpu(), normal(stream, global, corner, at::kDouble)));
}

}  // namespace
}  // namespace cpize::random
