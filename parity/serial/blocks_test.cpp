// The serial blocks against formulas written as plain loops, their published names, and how their weights start.
#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "serial/pair_slice.hpp"

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

TEST(PairSliceTest, NamesShapesAndOrderOfACheckpoint) {
  PairSlice slice;
  std::vector<std::string> expected{"input_embedder.res_type_encoding.weight [384, 33]",
                                    "input_embedder.msa_profile_encoding.weight [384, 34]",
                                    "z_init_1.weight [128, 384]",
                                    "z_init_2.weight [128, 384]",
                                    "rel_pos.linear_layer.weight [128, 139]",
                                    "token_bonds.weight [128, 1]"};
  for (const std::string block : {"tri_mul_out.", "tri_mul_in."}) {
    for (const std::string name :
         {"norm_in.weight [128]", "norm_in.bias [128]", "p_in.weight [256, 128]", "g_in.weight [256, 128]",
          "norm_out.weight [128]", "norm_out.bias [128]", "p_out.weight [128, 128]", "g_out.weight [128, 128]"}) {
      expected.push_back("pairformer_module.layers.0." + block + name);
    }
  }
  for (const std::string name : {"norm.weight [128]", "norm.bias [128]", "fc1.weight [512, 128]",
                                 "fc2.weight [512, 128]", "fc3.weight [128, 512]"}) {
    expected.push_back("pairformer_module.layers.0.transition_z." + name);
  }
  std::vector<std::string> found;
  for (const auto& item : slice->named_parameters()) found.push_back(item.key() + " " + c10::str(item.value().sizes()));
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(slice->named_buffers().is_empty());
}

PairSliceOptions small() {
  PairSliceOptions options;
  options.token_s = 5;
  options.rel_pos.token_z = 4;
  return options;
}

std::map<std::string, at::Tensor> dictionary(int64_t n) {
  const auto ids = [&](int64_t limit) { return at::randint(limit, {2, n}, at::kLong); };
  at::Tensor mask = at::ones({2, n});
  mask[0].slice(0, n - 2).zero_();
  return {{"res_type", at::one_hot(ids(kResidueTypes), kResidueTypes)},
          {"profile", at::rand({2, n, kResidueTypes})},
          {"deletion_mean", at::rand({2, n})},
          {"asym_id", ids(2)},
          {"residue_index", ids(9)},
          {"entity_id", ids(2)},
          {"token_index", ids(9)},
          {"sym_id", ids(2)},
          {"cyclic_period", ids(3)},
          {"token_bonds", at::randint(2, {2, n, n, 1}).to(at::kFloat)},
          {"token_pad_mask", mask}};
}

TEST(PairSliceTest, StepsComposeToForwardAndReadEachFeatureOnce) {
  at::manual_seed(8);
  PairSlice slice(small());
  slice->to(at::kDouble);
  {
    torch::NoGradGuard no_grad;
    for (at::Tensor& parameter : slice->parameters()) parameter.add_(at::randn_like(parameter));
  }
  const auto features = dictionary(6);
  std::map<std::string, int> reads;
  const auto given = PairSliceFeatures::from([&](const std::string& name) {
    ++reads[name];
    return features.at(name);
  });
  EXPECT_EQ(reads.size(), features.size());
  for (const auto& [name, count] : reads) EXPECT_EQ(count, 1) << name;

  const auto clean = zero_padding(given);
  const at::Tensor mask = pair_mask(clean.token_pad_mask);
  at::Tensor z = slice->pair_init(slice->input_embedder(clean.input), clean.position, clean.token_bonds);
  const at::Tensor start = z;
  z = z + slice->tri_mul_out(z, mask);
  z = z + slice->tri_mul_in(z, mask);
  z = z + slice->transition_z(z);
  const at::Tensor whole = slice(given);
  EXPECT_TRUE(at::equal(whole, z));
  EXPECT_EQ(whole.scalar_type(), at::kDouble);
  EXPECT_GT((whole - start).abs().max().item<double>(), 1e-3);
}

TEST(PairSliceTest, ResidualBranchesStartAsZero) {
  at::manual_seed(9);
  PairSlice slice(small());
  const auto features = PairSliceFeatures::from([d = dictionary(5)](const std::string& name) { return d.at(name); });
  const auto clean = zero_padding(features);
  EXPECT_TRUE(at::equal(slice(features),
                        slice->pair_init(slice->input_embedder(clean.input), clean.position, clean.token_bonds)));
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
