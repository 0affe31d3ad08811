// The judge: every profile's demands, every way to be red, and the reason that it gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "judge.hpp"

namespace cpize::tool {
namespace {

using nlohmann::json;

const std::map<std::string, std::pair<std::vector<std::string>, std::vector<std::string>>>& demanded() {
  static const std::map<std::string, std::pair<std::vector<std::string>, std::vector<std::string>>> table{
      {"block",
       {{"sharding_active", "replicas_identical", "gradients_finite", "gradients_nonzero", "every_parameter_compared",
         "zero_parameters_perturbed", "random_output_gradient", "uneven_sizes_run", "padding_only_shard_run",
         "masks_vary", "poison_invariant"},
        {"drop_gradient", "swap_shards", "ignore_mask"}}},
      {"feature",
       {{"sharding_active", "local_smaller_than_global", "assembled_equal", "masks_consistent", "indices_consistent"},
        {"swap_shards"}}},
      {"lifecycle", {{"resumed_in_new_process", "bit_equal", "every_parameter_compared", "gradients_nonzero"}, {}}},
      {"property", {{"repeat_bit_identical", "negative_control_caught"}, {}}},
      {"map", {{"every_feature_listed", "every_scope_listed", "every_parameter_listed"}, {}}},
      {"infra", {{"world_matches_plan", "collectives_ran", "mismatch_detected"}, {}}},
      {"profile", {{"budget_checked", "scopes_attributed"}, {}}},
      {"bench", {{"measured_nonempty"}, {}}}};
  return table;
}

json good(const std::string& profile) {
  json cell{{"measurements", {{{"name", "z"}, {"difference", 1e-15}, {"tolerance", 1e-13}, {"derivation", "16 eps"}}}},
            {"counters", {{{"name", "bytes"}, {"value", 8}, {"bound", 8}}, {{"name", "tokens_per_s"}, {"value", 3.5}}}},
            {"facts", json::object()},
            {"sabotage", json::object()}};
  for (const auto& f : demanded().at(profile).first) cell["facts"][f] = "yes";
  for (const auto& s : demanded().at(profile).second) cell["sabotage"][s] = "caught";
  return cell;
}

std::string why(const json& cell, const std::string& profile = "block", int phase = 3) {
  const CellJudgement j = judge_cell(profile, phase, cell);
  EXPECT_EQ(j.ok, j.why.empty());
  return j.why;
}

TEST(Judge, GoodCellsAreGreen) {
  for (const auto& [profile, names] : demanded()) EXPECT_EQ(why(good(profile), profile), "") << profile;
  const CellJudgement j = judge_cell("block", 3, good("block"));
  EXPECT_EQ(j.compared, 1);
  ASSERT_TRUE(j.worst);
  EXPECT_EQ(j.worst->name, "z");
}

TEST(Judge, EveryFactAndSabotageIsDemanded) {
  for (const auto& [profile, names] : demanded()) {
    for (const auto& f : names.first) {
      json c = good(profile);
      c["facts"].erase(f);
      EXPECT_EQ(why(c, profile), "vacuous: " + f + " is not reported");
      c["facts"][f] = "no: because";
      EXPECT_EQ(why(c, profile), "vacuous: not " + f + " (because)");
      c["facts"][f] = true;
      EXPECT_EQ(why(c, profile), "vacuous: " + f + " is not reported");
      c["facts"][f] = "n/a";
      EXPECT_NE(why(c, profile), "") << "a bare n/a has no reason";
    }
    for (const auto& s : names.second) {
      json c = good(profile);
      c["sabotage"].erase(s);
      EXPECT_EQ(why(c, profile), "vacuous: the sabotage " + s + " was not run");
      c["sabotage"][s] = "missed: same";
      EXPECT_EQ(why(c, profile), "sabotage missed: " + s + " (same)");
    }
  }
}

TEST(Judge, WhereDoesNotApplyIsAnAnswer) {
  const auto with = [](const char* kind, const std::string& name) {
    json c = good("block");
    c[kind][name] = "n/a: none";
    return c;
  };
  for (const auto& f : demanded().at("block").first) {
    const bool may = f == "zero_parameters_perturbed" || f == "every_parameter_compared" || f == "masks_vary";
    EXPECT_EQ(why(with("facts", f)).empty(), may) << f;
    EXPECT_EQ(why(with("facts", f), "block", 2).empty(), may || f.starts_with("gradients_")) << f;
  }
  for (const auto& s : demanded().at("block").second)
    EXPECT_EQ(why(with("sabotage", s)).empty(), s == "ignore_mask") << s;
}

TEST(Judge, Differences) {
  json c = good("block");
  c["measurements"].push_back({{"name", "w"}, {"difference", 3e-13}, {"tolerance", 1e-13}, {"derivation", "d"}});
  EXPECT_EQ(why(c), "over tolerance: w differs by 3e-13, allowed 1e-13 (3 times)");
  c["measurements"][1]["difference"] = nullptr;
  EXPECT_EQ(why(c), "not a number: w has the difference null");
  c["measurements"][1]["difference"] = -1;
  EXPECT_EQ(why(c), "not a number: w has the difference -1");
  c["measurements"][1] = {{"name", "w"}, {"difference", 0}};
  EXPECT_EQ(why(c), "no tolerance: w");
  c["measurements"][1] = {{"name", "w"}, {"difference", 0}, {"tolerance", 0}};
  EXPECT_EQ(why(c), "") << "bit equality needs no derivation";
  c["measurements"][1]["tolerance"] = 1;
  EXPECT_EQ(why(c), "the tolerance of w has no derivation");
  c["measurements"][1] = {{"name", "w"}, {"difference", 1e-300}, {"tolerance", 0}};
  EXPECT_EQ(why(c), "over tolerance: w differs by 1e-300, allowed 0");
  c["measurements"] = json::array();
  EXPECT_EQ(why(c), "vacuous: nothing was compared");
  c.erase("measurements");
  EXPECT_EQ(why(c), "vacuous: nothing was compared");
  EXPECT_EQ(why(json::array()), "the cell is not an object");
  json p = good("property");
  p.erase("measurements");
  EXPECT_EQ(why(p, "property", 5), "");
}

TEST(Judge, Counters) {
  json c = good("block");
  c["counters"][0]["value"] = 9;
  EXPECT_EQ(why(c), "over bound: bytes is 9, allowed 8 (1.12 times)");
  c["counters"][0]["value"] = nullptr;
  EXPECT_EQ(why(c), "not a number: the counter bytes is null");
  c["counters"][0] = {{"name", "bytes"}, {"value", 1}, {"bound", nullptr}};
  EXPECT_EQ(why(c), "not a number: the bound of bytes is null");
}

TEST(Judge, ProfilesOfPhases) {
  const std::vector<std::vector<std::string>> accepted{{"map"},     {"infra"},     {"feature", "block"},
                                                       {"block"},   {"lifecycle"}, {"block", "property"},
                                                       {"profile"}, {"bench"}};
  for (int phase = 0; phase < 8; ++phase) {
    for (const auto& [profile, names] : demanded()) {
      const auto& a = accepted[static_cast<std::size_t>(phase)];
      const bool may = std::find(a.begin(), a.end(), profile) != a.end();
      EXPECT_EQ(refuse_profile(phase, "parity", profile).empty(), may) << phase << profile;
    }
    EXPECT_NE(refuse_profile(phase, "parity", ""), "");
    EXPECT_EQ(refuse_profile(phase, "check", ""), "");
  }
}

TEST(Judge, NumbersThatJsonDoesNotKnow) {
  std::string error;
  const json j =
      parse_measurement(R"({"a":nan,"b":[-inf,-Infinity,NaN,1e5,-2E-3,true,null],"c":"nan -inf \" nan"})", error);
  EXPECT_EQ(error, "");
  EXPECT_EQ(j.dump(), R"({"a":null,"b":[null,null,null,100000.0,-0.002,true,null],"c":"nan -inf \" nan"})");
  EXPECT_TRUE(parse_measurement("{\"a\":", error).is_discarded());
  EXPECT_NE(error, "");
}

}  // namespace
}  // namespace cpize::tool
