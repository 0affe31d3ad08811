// The serial trunk: the names of a checkpoint, padding, recycling, and that its steps are what it says.
#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/utils.h>

#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "serial/padding.hpp"
#include "serial/trunk.hpp"

namespace {

using namespace cpize::serial;
using Dictionary = std::map<std::string, at::Tensor>;

constexpr int64_t kBatch = 2, kTokens = 6, kRows = 3;

TrunkOptions small() {
  TrunkOptions options;
  options.token_s = 8;
  options.rel_pos.token_z = 8;
  options.msa.layer.msa_s = 4;
  options.msa.layer.pairwise_head_width = options.pairformer.pairwise_head_width = 2;
  options.msa.layer.pairwise_num_heads = options.pairformer.pairwise_num_heads = options.pairformer.num_heads = 2;
  options.msa.msa_blocks = options.pairformer_blocks = 1;
  options.distogram_bins = options.bfactor_bins = 4;
  return options;
}

Dictionary dictionary() {
  const auto ids = [](int64_t limit) { return at::randint(limit, {kBatch, kTokens}, at::kLong); };
  const auto pairs = [](int64_t limit) { return at::randint(limit, {kBatch, kTokens, kTokens}, at::kLong); };
  const auto rows = [] { return at::rand({kBatch, kRows, kTokens}, at::kDouble); };
  at::Tensor mask = at::ones({kBatch, kTokens}, at::kDouble);
  mask[0].slice(0, kTokens - 2).zero_();
  return {{"res_type", at::one_hot(ids(kResidueTypes), kResidueTypes).to(at::kDouble)},
          {"profile", at::rand({kBatch, kTokens, kResidueTypes}, at::kDouble)},
          {"deletion_mean", at::rand({kBatch, kTokens}, at::kDouble)},
          {"method_feature", ids(12)},
          {"modified", ids(2)},
          {"mol_type", ids(4)},
          {"asym_id", ids(2)},
          {"residue_index", ids(9)},
          {"entity_id", ids(2)},
          {"token_index", ids(9)},
          {"sym_id", ids(2)},
          {"cyclic_period", ids(3)},
          {"token_bonds", (at::rand({kBatch, kTokens, kTokens, 1}, at::kDouble) > 0.5).to(at::kDouble)},
          {"type_bonds", pairs(7)},
          {"contact_conditioning", at::one_hot(pairs(5), 5).to(at::kDouble)},
          {"contact_threshold", at::rand({kBatch, kTokens, kTokens}, at::kDouble) * 20},
          {"msa", at::randint(33, {kBatch, kRows, kTokens}, at::kLong)},
          {"has_deletion", rows()},
          {"deletion_value", rows()},
          {"msa_paired", rows()},
          {"msa_mask", (rows() > 0.2).to(at::kDouble) * mask.unsqueeze(1)},
          {"token_pad_mask", mask}};
}

TrunkFeatures features_of(const Dictionary& d, const TrunkOptions& options) {
  return TrunkFeatures::from([&](const std::string& name) { return d.at(name); }, options);
}

Trunk perturbed(const TrunkOptions& options) {
  Trunk trunk(options);
  trunk->to(at::kDouble);
  torch::NoGradGuard no_grad;
  for (at::Tensor& p : trunk->parameters()) p.add_(at::randn_like(p), 0.3);
  return trunk;
}

TEST(Trunk, NamesShapesAndOrderOfACheckpoint) {
  TrunkOptions options;
  options.pairformer_blocks = 2;
  options.templates = TemplateModuleOptions{};
  const Trunk trunk(options);
  std::vector<std::string> expected, found;
  std::ifstream in(CPIZE_PARITY_DATA "/trunk_state_dict.txt");
  for (std::string line; std::getline(in, line);) expected.push_back(line);
  for (const auto& item : trunk->named_parameters()) found.push_back(item.key() + " " + c10::str(item.value().sizes()));
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(trunk->named_buffers().is_empty());
}

TEST(Trunk, PaddingMayHoldAnything) {
  at::manual_seed(3);
  const TrunkOptions options = small();
  Trunk trunk = perturbed(options);
  const Dictionary clean = dictionary();
  const at::Tensor tokens = clean.at("token_pad_mask"), pairs = pair_mask(tokens);
  Dictionary dirty = clean;
  for (auto& [name, x] : dirty) {
    if (name.ends_with("mask")) continue;
    const bool of_pairs = x.dim() > 2 && x.size(1) == kTokens && x.size(2) == kTokens, of_rows = x.size(1) == kRows;
    at::Tensor valid = (of_pairs ? pairs : of_rows ? tokens.unsqueeze(1).expand({-1, kRows, -1}) : tokens) != 0;
    while (valid.dim() < x.dim()) valid = valid.unsqueeze(-1);
    const at::Tensor poison = x.is_floating_point()
                                  ? at::full({}, std::numeric_limits<double>::quiet_NaN(), x.options())
                                  : at::full({}, -123456789, x.options());
    x = at::where(valid, x, poison);
  }
  const auto a = trunk(features_of(clean, options), TrunkCall{.recycling_steps = 1});
  const auto b = trunk(features_of(dirty, options), TrunkCall{.recycling_steps = 1});
  EXPECT_TRUE(at::equal(zero_padding(a.s, tokens), zero_padding(b.s, tokens)));
  EXPECT_TRUE(at::equal(zero_padding(a.z, pairs), zero_padding(b.z, pairs)));
  EXPECT_TRUE(at::isfinite(b.z).all().item<bool>());
}

TEST(Trunk, OnlyTheLastPassHasAGraph) {
  at::manual_seed(4);
  const TrunkOptions options = small();
  Trunk trunk = perturbed(options);
  const auto features = features_of(dictionary(), options);
  std::vector<std::pair<std::string, bool>> steps;
  TrunkCall call{.recycling_steps = 2};
  call.around = [&](const char* step, const std::function<void()>& run) {
    steps.emplace_back(step, c10::GradMode::is_enabled());
    run();
  };
  const auto out = trunk(features, call);
  int passes = 0, with_graph = 0;
  for (const auto& [step, graph] : steps)
    if (step == "pairformer_module") {
      ++passes;
      with_graph += graph;
    }
  EXPECT_EQ(passes, 3);
  EXPECT_EQ(with_graph, 1);
  EXPECT_TRUE(out.z.requires_grad());
  const auto once = trunk(features);
  EXPECT_GT((once.z - out.z).abs().max().item<double>(), 1e-6);
}

}  // namespace
