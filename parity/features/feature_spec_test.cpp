// The feature-spec table: complete, looked up by name, printable.
#include "features/feature_spec.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include <map>
#include "test_files.hpp"

namespace cpize::features {
namespace {

TEST(FeatureSpec, HoldsTheSlicesFeaturesWithShapesAndTypes) {
  const std::map<std::string, std::pair<std::string, std::string>> expected = {
      {"token_index", {"[N]", "int64"}},
      {"residue_index", {"[N]", "int64"}},
      {"asym_id", {"[N]", "int64"}},
      {"entity_id", {"[N]", "int64"}},
      {"sym_id", {"[N]", "int64"}},
      {"mol_type", {"[N]", "int64"}},
      {"res_type", {"[N, 33]", "int64"}},
      {"cyclic_period", {"[N]", "int64"}},
      {"profile", {"[N, 33]", "float32"}},
      {"deletion_mean", {"[N]", "float32"}},
      {"token_pad_mask", {"[N]", "float32"}},
      {"token_resolved_mask", {"[N]", "float32"}},
      {"token_bonds", {"[N, N, 1]", "float32"}},
      {"disto_center", {"[N, 3]", "float32"}},
      {"token_disto_mask", {"[N]", "float32"}},
      {"method_feature", {"[N]", "int64"}},
      {"modified", {"[N]", "int64"}},
      {"type_bonds", {"[N, N]", "int64"}},
      {"contact_conditioning", {"[N, N, 5]", "int64"}},
      {"contact_threshold", {"[N, N]", "float32"}},
      {"msa", {"[S, N]", "int64"}},
      {"msa_mask", {"[S, N]", "float32"}},
      {"msa_paired", {"[S, N]", "float32"}},
      {"has_deletion", {"[S, N]", "float32"}},
      {"deletion_value", {"[S, N]", "float32"}}};
  EXPECT_EQ(kFeatureSpecs.size(), expected.size());
  for (const auto& [name, shape] : expected) {
    const FeatureSpec& spec = feature_spec(name);
    EXPECT_EQ(shape_text(spec), shape.first) << name;
    EXPECT_EQ(name_of(spec.type), shape.second) << name;
    const bool pair = shape.first.starts_with("[N, N"), msa = shape.first.starts_with("[S");
    EXPECT_EQ(spec.layout, pair ? "Pair" : msa ? "Msa" : "Single") << name;
    EXPECT_EQ(spec.padding, name == "msa" ? 1 : 0) << name;  // gaps
    EXPECT_EQ(spec.optional, msa || name.starts_with("disto_") || name == "token_disto_mask") << name;
  }
}

TEST(FeatureSpec, LookUp) {
  for (const auto& spec : kFeatureSpecs) EXPECT_EQ(find_feature_spec(spec.name), &spec);
  EXPECT_EQ(find_feature_spec("res_typ"), nullptr);
  EXPECT_EQ(find_feature_spec("zzz"), nullptr);
  try {
    feature_spec("res_tpye");
    ADD_FAILURE() << "no error";
  } catch (const ContractError& error) {
    expect_parts(error.what(), {"'res_tpye'", "did you mean 'res_type'"});
  }
}

TEST(FeatureSpec, PrintsARowForEachFeature) {
  const std::string table = feature_spec_table();
  EXPECT_EQ(static_cast<size_t>(std::count(table.begin(), table.end(), '\n')), kFeatureSpecs.size() + 2);
  for (const auto& spec : kFeatureSpecs) EXPECT_NE(table.find("| " + std::string(spec.name) + " |"), std::string::npos);
}

}  // namespace
}  // namespace cpize::features
