// Draws: pinned bits, shards of every layout, dtypes, distributions.
#include "random/draw.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "error/error.hpp"
#include "parity/harness/bits.hpp"
#include "parity/random/draws.hpp"

namespace cpize::random {
namespace {

using parity::same_bits;

const Stream stream(20240607, "trunk.dropout", 3);

/// Computed once with exact IEEE arithmetic in another language. A contracted multiply-add anywhere changes some bit.
TEST(Draw, HasPinnedBits) {
  const struct {
    std::int64_t index;
    double uniform, normal;
  } pinned[] = {
      {0, 0x1.266ba0baab630p-5, 0x1.40c3b829c966dp+0},    {1, 0x1.4a1bdc4f2f03cp-2, 0x1.8f6b9580a0915p-1},
      {2, 0x1.76fc848b54960p-3, 0x1.175f66e71d750p-5},    {7, 0x1.e8e11705eeec7p-1, -0x1.0f4709532c0cdp+1},
      {1000, 0x1.5b1eadf3fb2e8p-3, 0x1.2cffc8628e363p+0}, {8589934597, 0x1.a772c061cc796p-1, -0x1.16de4b4842665p-1}};
  for (const auto& p : pinned) {
    const Box box{{p.index}, {1}};
    EXPECT_EQ(uniform(stream, {8589934600}, box, at::kDouble).item<double>(), p.uniform) << p.index;
    EXPECT_EQ(normal(stream, {8589934600}, box, at::kDouble).item<double>(), p.normal) << p.index;
  }
}

TEST(Draw, WiderDtypesOfOneDrawAgree) {
  const at::Tensor u = uniform(stream, {100, 100}, at::kDouble), n = normal(stream, {100, 100}, at::kDouble);
  EXPECT_TRUE(same_bits(uniform(stream, {100, 100}), ((u * 16777216).floor() / 16777216).to(at::kFloat)));
  EXPECT_TRUE(same_bits(normal(stream, {100, 100}), n.to(at::kFloat)));
  EXPECT_TRUE(u.ge(0).logical_and(u.lt(1)).all().item<bool>());
}

template <Drawable L>
void expect_shards(const Shape& shape) {
  const at::Tensor whole_u = uniform(stream, shape), whole_n = normal(stream, shape, at::kDouble);
  for (const MeshShape& mesh_shape : {MeshShape(1, 1, 1), MeshShape(1, 1, 2), MeshShape(1, 2, 1), MeshShape(1, 2, 2),
                                      MeshShape(1, 2, 3), MeshShape(1, 3, 3), MeshShape(2, 1, 2)})
    for (int rank = 0; rank < mesh_shape.size(); ++rank) {
      const auto mesh = c10::make_intrusive<DeviceMesh>(mesh_shape, nullptr, rank);
      const Sharded<L> u = uniform<L>(stream, shape, mesh), n = normal<L>(stream, shape, mesh, at::kDouble);
      const Sharded<L> cut_u = shard<L>(whole_u, mesh), cut_n = shard<L>(whole_n, mesh);
      EXPECT_TRUE(same_bits(u.local(), cut_u.local())) << mesh_shape.str() << " rank " << rank;
      EXPECT_TRUE(same_bits(n.local(), cut_n.local())) << mesh_shape.str() << " rank " << rank;
      EXPECT_EQ(u.local().strides(), cut_u.local().strides()) << "stored in another order";
    }
}

TEST(Draw, EveryLayoutGetsItsShardOfTheWhole) {
  expect_shards<Single>({2, 7, 3});
  expect_shards<SingleRow>({2, 7});
  expect_shards<SingleCol>({3, 8, 5});
  expect_shards<Pair>({2, 7, 7, 3});
  expect_shards<PairByChannel>({1, 5, 5, 4, 2});
  expect_shards<PairByRow>({2, 7, 7});
  expect_shards<PairByCol>({2, 7, 7, 2});
  expect_shards<PairWhole>({2, 4, 4, 1});
  expect_shards<Msa>({2, 11, 5, 3});
  expect_shards<MsaCol>({1, 3, 7, 2});
  expect_shards<Atom>({2, 23, 3});
  expect_shards<Window>({1, 4, 8, 16, 3});
  expect_shards<Whole<TokenSingle>>({3, 2});
  expect_shards<Single>({1, 2, 0});
}

template <class L>
concept CanDraw = requires(const MeshPtr& mesh) {
  uniform<L>(stream, Shape{}, mesh);
};
static_assert(CanDraw<Pair> && !CanDraw<Partial<SingleRow, cp1>>, "partial sums have no elements to draw");

TEST(Draw, RefusesWhatItCannotMean) {
  EXPECT_THROW(uniform(stream, {4}, at::kBFloat16), ContractError);
  EXPECT_THROW(normal(stream, {4}, at::kLong), ContractError);
  EXPECT_THROW(uniform(stream, {4, 4}, Box{{0, 3}, {4, 2}}, at::kFloat), ContractError);
  EXPECT_THROW(uniform(stream, {4, 4}, Box{{0}, {4}}, at::kFloat), ContractError);
  const DeviceMesh mesh(MeshShape(1, 1, 2), nullptr, 0);
  EXPECT_THROW(uniform(stream, {1, 4}, Partial<SingleRow, cp1>::spec, mesh, at::kFloat), ContractError);
}

TEST(Draw, DoesNotDependOnThreadsOrOnGlobalGenerators) {
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  at::manual_seed(1);
  const at::Tensor one = normal(stream, {333, 101}), expected = at::rand({5});
  at::set_num_threads(3);
  at::manual_seed(1);
  const at::Tensor three = normal(stream, {333, 101}), after = at::rand({5});
  at::set_num_threads(before);
  EXPECT_TRUE(same_bits(one, three));
  EXPECT_TRUE(same_bits(expected, after)) << "a draw moved torch's generator";
}

TEST(Draw, SourceByNameIsTheStreamBelow) {
  const auto source = uniform_source(stream);
  EXPECT_TRUE(same_bits(source("layers.0.tri_mul_out", {3, 5, 1, 1}),
                        uniform(stream.child("layers").child("0").child("tri_mul_out"), {3, 5, 1, 1})));
}

/// Bounds of five standard errors, computed from n.
TEST(Draw, UniformNumbersAreUniform) {
  constexpr std::int64_t n = 1 << 20;
  const double error = 5 / std::sqrt(double{n});
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const at::Tensor u = uniform(stream, {n}, dtype).to(at::kDouble);
    EXPECT_NEAR(u.mean().item<double>(), 0.5, error * std::sqrt(1 / 12.0));
    EXPECT_NEAR((u - 0.5).square().mean().item<double>(), 1 / 12.0, error * std::sqrt(1 / 180.0));
    EXPECT_LT(parity::kolmogorov(u, parity::uniform_cdf), 2.3);
    EXPECT_LT(std::fabs(parity::correlation(u.slice(0, 1), u.slice(0, 0, n - 1))), 5) << "neighbours";
    EXPECT_LT(std::fabs(parity::correlation(u.slice(0, 2), u.slice(0, 0, n - 2))), 5) << "neighbouring blocks";
  }
}

TEST(Draw, NormalNumbersAreNormal) {
  constexpr std::int64_t n = 1 << 20;
  const double error = 5 / std::sqrt(double{n});
  const at::Tensor x = normal(stream, {n}, at::kDouble);
  EXPECT_NEAR(x.mean().item<double>(), 0, error);
  EXPECT_NEAR(x.square().mean().item<double>(), 1, error * std::sqrt(2.));
  EXPECT_NEAR(x.pow(3).mean().item<double>(), 0, error * std::sqrt(15.));
  EXPECT_NEAR(x.pow(4).mean().item<double>(), 3, error * std::sqrt(96.));
  EXPECT_LT(parity::kolmogorov(x, parity::normal_cdf), 2.3);
  EXPECT_GT(x.abs().max().item<double>(), 4.2) << "the tail is missing";
  EXPECT_LT(std::fabs(parity::correlation(x.slice(0, 1), x.slice(0, 0, n - 1))), 5);
  EXPECT_LT(std::fabs(parity::correlation(x.square().slice(0, 1), x.square().slice(0, 0, n - 1))), 5);
  EXPECT_LT(std::fabs(parity::correlation(x, normal(stream.at_step(4), {n}, at::kDouble))), 5);
  EXPECT_LT(std::fabs(parity::correlation(x, normal(stream.child("x"), {n}, at::kDouble))), 5);
}

}  // namespace
}  // namespace cpize::random
