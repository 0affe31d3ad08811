// The mapper on the slice: it finds what is there, and refuses what it cannot tell apart.
#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include <algorithm>

#include "error/error.hpp"
#include "map/report.hpp"
#include "map/scope.hpp"
#include "parity/map/slice_factory.hpp"

namespace cpize {
namespace {

map::ModelMap slice_map() {
  return map::map_model(parity::build_mapped_slice, {{"B", {2, 3}}, {"N", {7, 13}}, {"S", {11, 17}}, {"Z", {19, 29}}});
}

TEST(Map, FindsHowDimensionsScale) {
  const auto m = slice_map();
  EXPECT_EQ(m.features.at("token_bonds").shape, (map::AxisShape{"B", "N", "N", "1"}));
  EXPECT_EQ(m.features.at("res_type").shape, (map::AxisShape{"B", "N", "33"}));
  for (const auto& [name, entry] : m.parameters) {
    if (name == "z_init_1.weight") {
      EXPECT_EQ(entry.shape, (map::AxisShape{"Z", "S"}));
    }
    if (name == "pairformer_module.layers.0.transition_z.fc1.weight") {
      EXPECT_EQ(entry.shape, (map::AxisShape{"4 Z", "Z"}));
    }
  }
}

TEST(Map, TellsFlattenedPairsFromOffsets) {
  auto factory = [](const map::AxisSizes& n) {
    const auto tokens = n.at("N");
    return map::MappedModel{{{"flat", at::ones({2 * tokens * tokens})},
                             {"padded", at::ones({tokens + 3})},
                             {"fewer", at::ones({tokens - 1})}},
                            {},
                            [](const map::InstrumentedFeatures& f) { f("flat") + 1; }};
  };
  const auto m = map::map_model(factory, {{"N", {4, 9}}});
  EXPECT_EQ(m.features.at("flat").shape, (map::AxisShape{"2 N N"}));
  EXPECT_EQ(m.features.at("padded").shape, (map::AxisShape{"N + 3"}));
  EXPECT_EQ(m.features.at("fewer").shape, (map::AxisShape{"N - 1"}));
}

TEST(Map, FindsWhoReadsAndUsesWhat) {
  const auto m = slice_map();
  EXPECT_EQ(m.features.at("asym_id").readers, (std::set<std::string>{"rel_pos"}));
  EXPECT_EQ(m.features.at("profile").readers, (std::set<std::string>{"input_embedder"}));
  EXPECT_TRUE(m.features.at("mol_type").readers.empty());
  EXPECT_EQ(std::count_if(m.scopes.begin(), m.scopes.end(), [](const auto& s) { return s.path == "rel_pos"; }), 1)
      << "a scope that only reads features is a scope, too";
  int in_outgoing = 0;
  for (const auto& [name, entry] : m.parameters) {
    EXPECT_EQ(entry.users.size(), 1u) << name;
    if (entry.users.contains("tri_mul_out")) {
      ++in_outgoing;
      EXPECT_NE(name.find("layers.0.tri_mul_out."), std::string::npos) << name;
    }
  }
  EXPECT_EQ(in_outgoing, 8);
}

TEST(Map, MarksAFeatureWithoutASpecAsAGap) {
  const std::string text = map::report("slice", slice_map(), {});
  EXPECT_NE(text.find("| `asym_id` | TODO(learn_context)"), std::string::npos);
}

TEST(Map, RefusesSizesThatLookAlike) {
  EXPECT_THROW(
      map::map_model(parity::build_mapped_slice, {{"B", {2, 3}}, {"N", {7, 13}}, {"S", {7, 17}}, {"Z", {19, 29}}}),
      ContractError);
}

TEST(Map, RefusesAModelThatChangesWithItsSize) {
  auto factory = [](const map::AxisSizes& n) {
    return map::MappedModel{{{"x", at::ones({n.at("N")})}}, {}, [n](const map::InstrumentedFeatures& f) {
                              map::Scope scope(n.at("N") > 5 ? "large" : "small");
                              f("x") + 1;
                            }};
  };
  EXPECT_THROW(map::map_model(factory, {{"N", {4, 9}}}), ContractError);
}

TEST(Scope, PathsNestAndNamesAreChecked) {
  map::Scope outer("layer");
  {
    map::Scope inner("step");
    EXPECT_EQ(map::Scope::current_path(), "layer/step");
  }
  EXPECT_EQ(map::Scope::current_path(), "layer");
  EXPECT_THROW(map::Scope("a/b"), ContractError);
}

}  // namespace
}  // namespace cpize
