// The serial blocks against formulas written as plain loops, their published names, and how their weights start.
#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "serial/initialisers.hpp"
#include "serial/pair_initialisation.hpp"
#include "serial/transition.hpp"
#include "serial/triangle_multiplication.hpp"

namespace {

using namespace cpize::serial;

TEST(PairInitialisationTest, EqualsTheFormulaPairByPair) {
  at::manual_seed(5);
  RelativePositionOptions options;
  options.token_z = 4;
  options.r_max = 2;
  options.s_max = 1;
  PairInitialisation block(3, options);
  block->to(at::kDouble);
  const int64_t n = 9;
  const at::Tensor s = at::randn({1, n, 3}, at::kDouble), bonds = at::randint(2, {1, n, n, 1}, at::kLong);
  const std::vector<int64_t> chain{0, 0, 0, 0, 0, 1, 1, 2, 2}, residue{0, 1, 2, 3, 4, 0, 1, 7, 7},
      entity{0, 0, 0, 0, 0, 0, 0, 1, 1}, token{0, 1, 2, 3, 4, 5, 6, 7, 8}, copy{0, 0, 0, 0, 0, 1, 1, 0, 0},
      period{5, 5, 5, 5, 5, 0, 0, 0, 0};
  const auto feature = [](const std::vector<int64_t>& values) { return at::tensor(values).unsqueeze(0); };
  const RelativePositionFeatures positions{feature(chain), feature(residue), feature(entity),
                                           feature(token), feature(copy),    feature(period)};
  const at::Tensor z = block(s, positions, bonds);

  const at::Tensor w = block->rel_pos->linear_layer->weight;  // columns: 6 residue, 6 token, 1 entity, 4 copy
  ASSERT_EQ(w.size(1), 6 + 6 + 1 + 4);
  const auto clip = [](int64_t d, int64_t max) { return std::clamp<int64_t>(d + max, 0, 2 * max); };
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      int64_t d = residue[i] - residue[j];
      if (period[j] > 0) d -= period[j] * static_cast<int64_t>(std::nearbyint(static_cast<double>(d) / period[j]));
      const bool same_chain = chain[i] == chain[j], same_entity = entity[i] == entity[j];
      const int64_t residue_class = same_chain ? clip(d, 2) : 5;
      const int64_t token_class = same_chain && residue[i] == residue[j] ? clip(token[i] - token[j], 2) : 5;
      const int64_t copy_class = same_entity ? clip(copy[i] - copy[j], 1) : 3;
      at::Tensor expected = block->z_init_1->weight.matmul(s[0][i]) + block->z_init_2->weight.matmul(s[0][j]);
      expected = expected + w.select(1, residue_class) + w.select(1, 6 + token_class) + w.select(1, 13 + copy_class);
      if (same_entity) expected = expected + w.select(1, 12);
      expected = expected + block->token_bonds->weight.select(1, 0) * bonds[0][i][j][0].item<double>();
      EXPECT_LT((z[0][i][j] - expected).abs().max().item<double>(), 1e-14) << "pair " << i << ", " << j;
    }
  }
}

TEST(InitialisersTest, LecunHasUnitGainAndIsTruncated) {
  at::manual_seed(1);
  const at::Tensor w = at::empty({512, 256}, at::kDouble);
  lecun_normal_(w);
  EXPECT_NEAR(w.std().item<double>() * std::sqrt(256.0), 1.0, 0.01);
  EXPECT_LE(w.abs().max().item<double>(), 2.0 / std::sqrt(256.0) / 0.8796);
  EXPECT_GT(w.abs().max().item<double>(), 1.99 / std::sqrt(256.0) / 0.8797);
}

TEST(TriangleMultiplicationTest, SumsInAtLeastFp32) {
  at::manual_seed(2);
  TriangleMultiplication block(4, TriangleDirection::outgoing);
  {
    torch::NoGradGuard no_grad;
    for (at::Tensor& parameter : block->parameters()) parameter.copy_(at::randn_like(parameter).to(at::kBFloat16));
  }
  const at::Tensor x = at::randn({1, 5, 5, 4}).to(at::kBFloat16), mask = at::ones({1, 5, 5});
  block->to(at::kDouble);
  const at::Tensor exact = block(x.to(at::kDouble), mask);
  EXPECT_EQ(exact.scalar_type(), at::kDouble);
  block->to(at::kBFloat16);
  const at::Tensor rounded = block(x, mask);
  EXPECT_EQ(rounded.scalar_type(), at::kBFloat16);
  EXPECT_LT((rounded.to(at::kDouble) - exact).abs().max().item<double>(), 0.05 * exact.abs().max().item<double>());
}

}  // namespace
