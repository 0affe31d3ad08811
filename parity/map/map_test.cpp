// The mapper on the trunk: it finds what is there, and refuses what it cannot tell apart.
#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include <algorithm>

#include "error/error.hpp"
#include "map/report.hpp"
#include "map/scope.hpp"
#include "parity/map/trunk_factory.hpp"

namespace cpize {
namespace {

map::ModelMap trunk_map() {
  return map::map_model(parity::build_mapped_trunk,
                        {{"B", {2, 3}}, {"N", {7, 13}}, {"M", {5, 23}}, {"S", {11, 17}}, {"Z", {19, 29}}});
}

TEST(Map, FindsHowDimensionsScale) {
  const auto m = trunk_map();
  EXPECT_EQ(m.features.at("token_bonds").shape, (map::AxisShape{"B", "N", "N", "1"}));
  EXPECT_EQ(m.features.at("res_type").shape, (map::AxisShape{"B", "N", "33"}));
  EXPECT_EQ(m.features.at("msa").shape, (map::AxisShape{"B", "M", "N"}));
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
  const auto m = trunk_map();
  EXPECT_EQ(m.features.at("asym_id").readers, (std::set<std::string>{"pair_init"}));
  EXPECT_EQ(m.features.at("profile").readers, (std::set<std::string>{"input_embedder"}));
  EXPECT_EQ(m.features.at("msa").readers, (std::set<std::string>{"msa_module"}));
  EXPECT_TRUE(m.features.at("disto_center").readers.empty());
  EXPECT_EQ(std::count_if(m.scopes.begin(), m.scopes.end(), [](const auto& s) { return s.path == "pair_init"; }), 1)
      << "entered to read features, and again to run";
  int in_head = 0;
  for (const auto& [name, entry] : m.parameters) {
    EXPECT_EQ(entry.users.size(), 1u) << name;
    if (entry.users.contains("bfactor_module")) {
      ++in_head;
      EXPECT_EQ(name.find("bfactor_module."), 0u) << name;
    }
  }
  EXPECT_EQ(in_head, 2);
}

TEST(Map, MarksAFeatureWithoutASpecAsAGap) {
  const std::string text = map::report("trunk", trunk_map(), {});
  EXPECT_NE(text.find("| `asym_id` | TODO(learn_context)"), std::string::npos);
}

TEST(Map, RefusesSizesThatLookAlike) {
  EXPECT_THROW(map::map_model(parity::build_mapped_trunk,
                              {{"B", {2, 3}}, {"N", {7, 13}}, {"M", {5, 23}}, {"S", {7, 17}}, {"Z", {19, 29}}}),
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
