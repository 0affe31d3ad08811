// Padding and collation: masks, padding values, unchanged inputs.
#include "features/padding.hpp"

#include <gtest/gtest.h>

#include "features/read_fasta.hpp"
#include "test_files.hpp"

namespace cpize::features {
namespace {

Features sample(const std::string& letters) {
  const TemporaryFile file("x.fasta", ">A|protein\n" + letters + "\n>L|ccd\nGOL\n");  // glycerol: 6 atoms, 5 bonds
  const Structure s = read_fasta(file.path());
  return token_features(s, tokenise(s), true);
}

TEST(Padding, ValidPartIsKeptAndTheRestIsMasked) {
  const Features features = sample("GACKL");
  const Features padded = pad_tokens(features, 8);
  EXPECT_EQ(check_features(padded), 16);
  ASSERT_EQ(padded.size(), features.size());
  for (const auto& [name, tensor] : features) {
    const FeatureSpec& spec = feature_spec(name);
    at::Tensor valid = padded.at(name);
    for (size_t i = 0; i < spec.rank(); ++i) {
      if (spec.dimensions[i].axis == FeatureAxis::tokens) valid = valid.narrow(static_cast<int64_t>(i), 0, 11);
    }
    EXPECT_TRUE(at::equal(valid, tensor)) << name;
    EXPECT_EQ(padded.at(name).scalar_type(), tensor.scalar_type());
    EXPECT_EQ(padded.at(name).sum().item<double>(), tensor.sum().item<double>()) << name;  // every padding value is 0
  }
  EXPECT_EQ(features.at("token_index").size(0), 11);
  EXPECT_EQ(padded.at("token_bonds").sum().item<float>(), 10);
}

TEST(Padding, MultiplesAndErrors) {
  const Features features = sample("GACKL");
  EXPECT_EQ(check_features(pad_tokens(features, 1)), 11);
  EXPECT_EQ(check_features(pad_tokens(features, 11)), 11);
  EXPECT_EQ(check_features(pad_tokens_to(features, 12)), 12);
  EXPECT_THROW(pad_tokens(features, 0), ContractError);
  EXPECT_THROW(pad_tokens_to(features, 10), ContractError);
  EXPECT_EQ(pad_tokens(pad_tokens(features, 4), 5).at("token_pad_mask").sum().item<float>(), 11);
}

TEST(Collate, DifferentSizesBecomeOneMaskedBatch) {
  const Features a = sample("GACKL"), b = sample("GA");
  const Features batch = collate({a, b});
  EXPECT_EQ(check_features(batch, true), 11);
  const auto counts = batch.at("token_pad_mask").sum(1);
  EXPECT_EQ(counts[0].item<float>(), 11);
  EXPECT_EQ(counts[1].item<float>(), 8);
  EXPECT_EQ(batch.at("token_bonds").sizes(), (std::vector<int64_t>{2, 11, 11, 1}));
  EXPECT_TRUE(at::equal(batch.at("profile")[1].narrow(0, 0, 8), b.at("profile")));
  EXPECT_EQ(check_features(collate({a, b}, 4), true), 12);
  Features fewer = b;
  fewer.erase("disto_center");
  EXPECT_THROW(collate({a, fewer}), ContractError);
  EXPECT_THROW(collate({}), ContractError);
}

}  // namespace
}  // namespace cpize::features
