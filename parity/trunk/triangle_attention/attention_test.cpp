// Triangle attention beyond its parity case: masks of pairs that are no outer product, rows without a valid key inside
// valid ones, panels of every size, and what is refused.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "comm/run_ranks.hpp"
#include "error/error.hpp"
#include "layout/reduce_gradients.hpp"
#include "parity/harness/assemble.hpp"
#include "parity/harness/parameters.hpp"
#include "parity/harness/runs.hpp"
#include "serial/triangle_attention.hpp"
#include "trunk/triangle_attention/triangle_attention.hpp"

namespace cpize::parity {
namespace {

constexpr std::int64_t kChannels = 6, kWidth = 4, kHeads = 3;

using Outcome = std::map<std::string, at::Tensor>;  // the output "y", gradients "z" and of the parameters by name

struct Problem {
  serial::TriangleNode node;
  at::Tensor z, mask, gradient;
};

Problem problem_of(serial::TriangleNode node, std::int64_t batch, std::int64_t tokens) {
  at::Generator g = generator_for("triangle attention, N = " + std::to_string(tokens));
  const Shape shape{batch, tokens, tokens, kChannels};
  Problem p{node, at::randn(shape, g, at::kDouble),
            at::rand({batch, tokens, tokens}, g, at::kDouble).gt(0.4).to(at::kDouble),
            at::randn(shape, g, at::kDouble)};
  return p;
}

std::shared_ptr<serial::TriangleAttentionImpl> serial_block(serial::TriangleNode node) {
  auto block = std::make_shared<serial::TriangleAttentionImpl>(kChannels, kWidth, kHeads, node);
  {
    const at::NoGradGuard no_grad;  // only the noise of perturb() stays: the same numbers at every call
    for (at::Tensor& parameter : block->parameters()) parameter.zero_();
  }
  perturb(*block, "triangle attention");
  return block;
}

Outcome serial_outcome(const Problem& p, std::int64_t chunk_size = 0) {
  const auto block = serial_block(p.node);
  const at::Tensor z = p.z.clone().requires_grad_(true);
  const at::Tensor y = block->forward(z, p.mask, chunk_size);
  torch::autograd::backward({y}, {p.gradient});
  Outcome out{{"y", y.detach()}, {"z", z.grad()}};
  for (const auto& [name, parameter] : parameters_of(block.get())) out[name] = parameter.grad();
  return out;
}

Outcome port_outcome(const Problem& p, const MeshShape& shape, const trunk::TriangleAttentionOptions& options = {},
                     at::ScalarType dtype = at::kDouble) {
  const auto serial = serial_block(p.node);
  const auto node =
      p.node == serial::TriangleNode::starting ? trunk::TriangleNode::starting : trunk::TriangleNode::ending;
  Outcome out;
  comm::run_ranks(shape, [&](const MeshPtr& mesh) {
    trunk::TriangleAttention block(kChannels, kWidth, kHeads, node, options);
    copy_parameters(serial.get(), block.get(), "triangle attention", dtype);
    const auto z = shard<Pair>(p.z.to(dtype), mesh);
    z.local().requires_grad_(true);
    const auto y = block(z, shard<Pair>(p.mask, mesh));
    torch::autograd::backward({y.local()}, {shard<Pair>(p.gradient.to(dtype), mesh).local()});
    reduce_gradients(block->parameters(), *mesh);
    Outcome mine{{"y", assemble(y)}, {"z", assemble(z.with(z.local().grad()))}};
    for (const auto& [name, parameter] : parameters_of(block.get())) mine[name] = parameter.grad();
    if (mesh->rank() == 0) out = mine;
  });
  return out;
}

void expect_near(const Outcome& expected, const Outcome& actual, double tolerance) {
  ASSERT_EQ(expected.size(), 10u);
  ASSERT_EQ(expected.size(), actual.size());
  for (const auto& [name, value] : expected) {
    const double scale = value.abs().max().item<double>();
    EXPECT_GT(scale, 0) << name;
    EXPECT_LE((value - actual.at(name)).abs().max().item<double>(), tolerance * scale) << name;
  }
}

class TriangleAttentionTest : public testing::TestWithParam<serial::TriangleNode> {};

// About a hundred roundings of an fp64 sum of a few hundred terms.
constexpr double kRounding = 1e-13;

TEST_P(TriangleAttentionTest, TakesAnyMaskOfPairs) {
  const Problem p = problem_of(GetParam(), 2, 7);
  const Outcome expected = serial_outcome(p);
  expect_near(expected, serial_outcome(p, 3), kRounding);
  for (const char* mesh : {"1x1x1", "1x1x2", "1x2x1", "1x2x3", "1x3x3", "2x2x1"})
    expect_near(expected, port_outcome(p, MeshShape::parse(mesh)), kRounding);
}

// Every key of some rows is masked, though their output has a gradient. The shift of -1e9 is the same for all keys and
// cancels, up to the rounding of 1e9: 1.2e-7 in fp64, where the port rounds as serial does. fp32 would round to 64, so
// there the port does without the shift and is as near to the unmasked rows as its arithmetic allows.
TEST_P(TriangleAttentionTest, RowsWithoutAValidKeyKeepTheirScores) {
  Problem p = problem_of(GetParam(), 2, 5);
  const std::int64_t row = GetParam() == serial::TriangleNode::starting ? 1 : 2;
  Problem unmasked = p;
  unmasked.mask = p.mask.clone();
  for (const std::int64_t index : {0, 3}) {
    p.mask.select(row, index).zero_();
    unmasked.mask.select(row, index).fill_(1);
  }
  for (const char* mesh : {"1x1x1", "1x2x2", "1x3x3"}) {
    const Outcome actual = port_outcome(p, MeshShape::parse(mesh));
    expect_near(serial_outcome(p), actual, kRounding);
    expect_near(serial_outcome(unmasked), actual, 1e-6);
    expect_near(serial_outcome(unmasked), port_outcome(p, MeshShape::parse(mesh), {}, at::kFloat), 1e-5);
  }
  p.mask.zero_();
  unmasked.mask.fill_(1);
  expect_near(serial_outcome(unmasked), port_outcome(p, MeshShape(1, 2, 2), {}, at::kFloat), 1e-5);
}

// A panel of several rows, of one, of some queries of one, of a single query: the panels are not seen in the result.
TEST_P(TriangleAttentionTest, PanelsOfEverySize) {
  const Problem p = problem_of(GetParam(), 2, 11);
  const Outcome expected = serial_outcome(p);
  for (const std::int64_t scores : {5 * 121, 2 * 121, 121, 4 * 11, 11, 1})
    for (const char* mesh : {"1x1x1", "1x2x2"})
      expect_near(expected, port_outcome(p, MeshShape::parse(mesh), {.score_elements = scores}), kRounding);
}

TEST_P(TriangleAttentionTest, AFrozenParameterCostsNothingAndChangesNothing) {
  const Problem p = problem_of(GetParam(), 1, 6);
  const Outcome expected = serial_outcome(p);
  const auto serial = serial_block(p.node);
  comm::run_ranks(MeshShape(1, 2, 2), [&](const MeshPtr& mesh) {
    for (const auto& [only, unused] : parameters_of(serial.get())) {
      trunk::TriangleAttention block(
          kChannels, kWidth, kHeads,
          p.node == serial::TriangleNode::starting ? trunk::TriangleNode::starting : trunk::TriangleNode::ending);
      copy_parameters(serial.get(), block.get(), "triangle attention");
      for (auto& item : block->named_parameters()) item.value().requires_grad_(item.key() == only);
      const auto y = block(shard<Pair>(p.z, mesh), shard<Pair>(p.mask, mesh));
      torch::autograd::backward({y.local()}, {shard<Pair>(p.gradient, mesh).local()});
      at::Tensor trained = block->named_parameters()[only];
      reduce_gradients({trained}, *mesh);
      const at::Tensor& truth = expected.at(only);
      if ((trained.grad() - truth).abs().max().item<double>() > kRounding * truth.abs().max().item<double>())
        throw std::runtime_error("wrong gradient of " + only);
      for (const auto& item : block->named_parameters())
        if (item.key() != only && item.value().grad().defined()) throw std::runtime_error(item.key() + " is frozen");
    }
  });
}

TEST_P(TriangleAttentionTest, ARetainedGraphGivesTheSameGradientTwice) {
  const Problem p = problem_of(GetParam(), 1, 6);
  comm::run_ranks(MeshShape(1, 2, 2), [&](const MeshPtr& mesh) {
    trunk::TriangleAttention block(kChannels, kWidth, kHeads, trunk::TriangleNode::ending);
    copy_parameters(serial_block(p.node).get(), block.get(), "triangle attention");
    const auto z = shard<Pair>(p.z, mesh);
    z.local().requires_grad_(true);
    const auto y = block(z, shard<Pair>(p.mask, mesh));
    const at::Tensor seed = shard<Pair>(p.gradient, mesh).local();
    torch::autograd::backward({y.local()}, {seed}, /*retain_graph=*/true);
    const at::Tensor once = z.local().grad().clone();
    z.local().mutable_grad().reset();
    torch::autograd::backward({y.local()}, {seed});
    if (!z.local().grad().equal(once)) throw std::runtime_error("the second backward differs");
  });
}

INSTANTIATE_TEST_SUITE_P(Nodes, TriangleAttentionTest,
                         testing::Values(serial::TriangleNode::starting, serial::TriangleNode::ending),
                         [](const auto& info) {
                           return info.param == serial::TriangleNode::starting ? "starting" : "ending";
                         });

TEST(TriangleAttention, RefusesWhatDoesNotFit) {
  const Problem p = problem_of(serial::TriangleNode::starting, 1, 4);
  comm::run_ranks(MeshShape(1, 1, 1), [&](const MeshPtr& mesh) {
    trunk::TriangleAttention block(kChannels, kWidth, kHeads, trunk::TriangleNode::starting);
    block->to(at::kDouble);
    const auto z = shard<Pair>(p.z, mesh);
    z.local().requires_grad_(true);
    EXPECT_THROW(block(z, z), ContractError);
    EXPECT_THROW(block(shard<Pair>(at::randn({1, 4, 4, 5}, at::kDouble), mesh), shard<Pair>(p.mask, mesh)),
                 ContractError);
    const auto y = block(z, shard<Pair>(p.mask, mesh));
    EXPECT_THROW(torch::autograd::grad({y.local().sum()}, {z.local()}, {}, true, /*create_graph=*/true),
                 NotImplemented);
  });
  EXPECT_THROW(trunk::TriangleAttention(kChannels, 0, kHeads, trunk::TriangleNode::starting), ConfigError);
}

}  // namespace
}  // namespace cpize::parity
