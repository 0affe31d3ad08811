// Padding of the serial blocks: what masked positions hold changes no valid value and no gradient, by not a single bit.
#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/utils.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "serial/attention_pair_bias.hpp"
#include "serial/padding.hpp"
#include "serial/pair_initialisation.hpp"
#include "serial/pairformer.hpp"
#include "serial/transition.hpp"
#include "serial/triangle_multiplication.hpp"

namespace {

using namespace cpize::serial;
using Forward = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

constexpr int64_t kBatch = 3, kTokens = 7, kWidth = 6;

/// Per batch entry: some tokens valid (with a hole), none, exactly one.
at::Tensor varied_token_mask(at::ScalarType dtype) {
  at::Tensor mask = at::zeros({kBatch, kTokens}, dtype);
  for (int64_t token : {0, 1, 2, 4}) mask[0][token] = 1;
  mask[2][3] = 1;
  return mask;
}

/// Every parameter random, so that no branch of the block is switched off by its zero start.
void perturb(torch::nn::Module& module, at::ScalarType dtype) {
  module.to(dtype);
  torch::NoGradGuard no_grad;
  for (at::Tensor& parameter : module.parameters()) parameter.add_(at::randn_like(parameter), 0.5);
}

struct Run {
  at::Tensor out;
  std::vector<at::Tensor> gradients;  // of the inputs, then of the parameters
};

Run run(torch::nn::Module& module, const Forward& forward, const std::vector<at::Tensor>& inputs,
        const at::Tensor& out_gradient) {
  module.zero_grad();
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& input : inputs) leaves.push_back(input.detach().clone().requires_grad_(true));
  Run result;
  result.out = forward(leaves);
  torch::autograd::backward({result.out}, {out_gradient});
  for (const at::Tensor& leaf : leaves) result.gradients.push_back(leaf.grad());
  for (const at::Tensor& parameter : module.parameters()) result.gradients.push_back(parameter.grad().clone());
  return result;
}

/// `valid[i]`: mask of inputs[i]. Runs once on the inputs, once with every masked position poisoned.
void expect_poison_invariant(torch::nn::Module& module, const Forward& forward, const std::vector<at::Tensor>& inputs,
                             const std::vector<at::Tensor>& valid, const at::Tensor& valid_out, double poison) {
  at::manual_seed(3);
  at::Tensor shape;
  {
    torch::NoGradGuard no_grad;
    shape = forward(inputs);
  }
  const at::Tensor out_gradient = zero_padding(at::randn_like(shape), valid_out);
  std::vector<at::Tensor> poisoned;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor marker = zero_padding(at::ones_like(inputs[i]), valid[i]);
    poisoned.push_back(at::where(marker != 0, inputs[i], at::full({}, poison, inputs[i].options())));
  }
  const Run clean = run(module, forward, inputs, out_gradient);
  const Run dirty = run(module, forward, poisoned, out_gradient);
  EXPECT_TRUE(at::equal(zero_padding(clean.out, valid_out), zero_padding(dirty.out, valid_out)));
  EXPECT_TRUE(at::isfinite(clean.out).all().item<bool>());
  ASSERT_EQ(clean.gradients.size(), dirty.gradients.size());
  for (size_t i = 0; i < clean.gradients.size(); ++i) {
    const bool is_input = i < inputs.size();
    const std::string name =
        is_input ? "input " + std::to_string(i) : module.named_parameters().keys()[i - inputs.size()];
    const at::Tensor a = is_input ? zero_padding(clean.gradients[i], valid[i]) : clean.gradients[i];
    const at::Tensor b = is_input ? zero_padding(dirty.gradients[i], valid[i]) : dirty.gradients[i];
    EXPECT_TRUE(at::equal(a, b)) << name << " differs by " << (a - b).abs().max().item<double>();
    EXPECT_TRUE(at::isfinite(dirty.gradients[i]).all().item<bool>()) << name;
    EXPECT_GT(clean.gradients[i].abs().max().item<double>(), 0) << name;
  }
}

RelativePositionOptions small_positions() {
  RelativePositionOptions options;
  options.token_z = kWidth;
  options.r_max = 3;
  return options;
}

RelativePositionFeatures random_positions() {
  const auto ids = [](int64_t limit) { return at::randint(limit, {kBatch, kTokens}, at::kLong); };
  return {ids(2), ids(5), ids(2), at::arange(kTokens).expand({kBatch, kTokens}), ids(3), ids(2) * 4};
}

class Padding : public testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override { at::manual_seed(11); }
  at::ScalarType dtype() const { return GetParam(); }
  /// A LayerNorm squares what it is given: 1e30 squared overflows fp32 and not fp64, in the published model too.
  double poison() const { return dtype() == at::kDouble ? 1e30 : 1e15; }
  at::Tensor token_mask() const { return varied_token_mask(dtype()); }
  at::Tensor random_pair() const { return at::randn({kBatch, kTokens, kTokens, kWidth}, dtype()); }
};

TEST_P(Padding, Transition) {
  Transition block(kWidth, 2 * kWidth);
  perturb(*block, dtype());
  const at::Tensor mask = pair_mask(token_mask());
  expect_poison_invariant(
      *block, [&](const auto& in) { return block(in[0]); }, {random_pair()}, {mask}, mask, poison());
}

TEST_P(Padding, TriangleMultiplication) {
  const at::Tensor mask = pair_mask(token_mask());
  for (auto direction : {TriangleDirection::outgoing, TriangleDirection::incoming}) {
    TriangleMultiplication block(kWidth, direction);
    perturb(*block, dtype());
    expect_poison_invariant(
        *block, [&](const auto& in) { return block(in[0], mask); }, {random_pair()}, {mask}, mask, poison());
  }
}

TEST_P(Padding, AttentionPairBias) {
  AttentionPairBias block(AttentionPairBiasOptions{.c_s = 8, .c_z = kWidth, .num_heads = 2});
  perturb(*block, dtype());
  const at::Tensor tokens = token_mask();
  expect_poison_invariant(
      *block, [&](const auto& in) { return block(in[0], in[1], tokens, in[0]); },
      {at::randn({kBatch, kTokens, 8}, dtype()), random_pair()}, {tokens, pair_mask(tokens)}, tokens, poison());
}

TEST_P(Padding, PairformerLayer) {
  PairformerLayer block(8, kWidth,
                        PairformerOptions{.num_heads = 2, .pairwise_head_width = 3, .pairwise_num_heads = 2});
  perturb(*block, dtype());
  const at::Tensor tokens = token_mask(), pairs = pair_mask(tokens);
  expect_poison_invariant(
      *block,
      [&](const auto& in) {  // s depends on z
        return std::get<0>(block(in[0], in[1], tokens, pairs));
      },
      {at::randn({kBatch, kTokens, 8}, dtype()), random_pair()}, {tokens, pairs}, tokens, poison());
}

TEST_P(Padding, PairInitialisation) {
  PairInitialisation block(5, small_positions());
  perturb(*block, dtype());
  const at::Tensor mask = pair_mask(token_mask());
  const auto positions = random_positions();
  expect_poison_invariant(
      *block, [&](const auto& in) { return block(in[0], positions, in[1]); },
      {at::randn({kBatch, kTokens, 5}, dtype()), at::randn({kBatch, kTokens, kTokens, 1}, dtype())},
      {token_mask(), mask}, mask, poison());
}

TEST_P(Padding, TokenInputEmbedder) {
  TokenInputEmbedder block(kWidth);
  perturb(*block, dtype());
  const auto residues = [&] { return at::rand({kBatch, kTokens, kResidueTypes}, dtype()); };
  expect_poison_invariant(
      *block,
      [&](const auto& in) {
        return block(TokenInputFeatures{in[0], in[1], in[2]});
      },
      {residues(), residues(), at::rand({kBatch, kTokens}, dtype())}, {token_mask(), token_mask(), token_mask()},
      token_mask(), poison());
}

INSTANTIATE_TEST_SUITE_P(Dtypes, Padding, testing::Values(at::kDouble, at::kFloat),
                         [](const auto& info) { return info.param == at::kDouble ? "fp64" : "fp32"; });

}  // namespace
