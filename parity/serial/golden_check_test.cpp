// Negative controls of the golden check: each planted fault must be found.
#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>

#include "cmake/tool/src/sha256.hpp"
#include "error/error.hpp"
#include "parity/serial/golden_check.hpp"

namespace {

using namespace cpize;
using namespace cpize::parity;

GoldenCase committed(const std::string& name) {
  const auto cases = read_golden_index(CPIZE_COMMITTED_GOLDEN_DIR);
  const auto found = std::find_if(cases.begin(), cases.end(), [&](const GoldenCase& c) { return c.name == name; });
  if (found == cases.end()) throw std::runtime_error("no committed case " + name);
  return *found;
}

class GoldenCheckTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / ("cpize_golden_" + std::to_string(::getpid()) + ".safetensors");
  }
  void TearDown() override { std::filesystem::remove(path_); }

  /// The case with changed tensors, in a file of its own with a matching size and hash.
  GoldenCase tampered(const std::string& name, const std::function<void(safetensors::Tensors&)>& change) {
    GoldenCase golden = committed(name);
    auto file = read_golden_file(golden);
    change(file.tensors);
    safetensors::write(path_, file.tensors, file.metadata);
    std::ifstream stream(path_, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    golden.file = path_;
    golden.bytes = bytes.size();
    golden.sha256 = tool::sha256(bytes);
    return golden;
  }

  std::filesystem::path path_;
};

TEST_F(GoldenCheckTest, UnchangedCasePasses) {
  EXPECT_TRUE(check_golden(tampered("tri_mult_outgoing", [](auto&) {})).passed());
}

TEST_F(GoldenCheckTest, EveryComparedTensorMatters) {
  const auto file = read_golden_file(committed("tri_mult_outgoing"));
  int changed = 0;
  for (const auto& [key, unused] : file.tensors) {
    if (key.starts_with("gout.")) continue;
    ++changed;
    const auto golden =
        tampered("tri_mult_outgoing", [key = key](auto& tensors) { tensors.at(key).view(-1)[3].add_(1e-4); });
    EXPECT_FALSE(check_golden(golden).passed()) << key;
  }
  EXPECT_EQ(changed, 2 + 1 + 1 + 8 + 8);  // in, out, gin, param, gparam
}

TEST_F(GoldenCheckTest, NaNFails) {
  const auto golden = tampered(
      "transition", [](auto& t) { t.at("gparam.fc1.weight")[0][0] = std::numeric_limits<double>::quiet_NaN(); });
  EXPECT_FALSE(check_golden(golden).passed());
}

TEST_F(GoldenCheckTest, IgnoredInputIsAProblem) {
  const auto golden = tampered("transition", [](auto& t) { t["in.mask"] = at::ones({1}); });
  EXPECT_NE(check_golden(golden).failures().find("in.mask is given by the case and was not used"), std::string::npos);
}

TEST_F(GoldenCheckTest, LooserToleranceOnlyOutsideTheMask) {
  const auto plant = [&](bool strict, double error) {
    return check_golden(tampered("transition",
                                 [&](auto& t) {
                                   t["omask.out"] = at::ones_like(t.at("out.out"), at::kBool);
                                   t["omask.out"].view(-1)[0] = strict;
                                   t.at("out.out").view(-1)[0].mul_(1 + error);
                                 }))
        .passed();
  };
  EXPECT_FALSE(plant(true, 1e-6));
  EXPECT_TRUE(plant(false, 1e-6));
  EXPECT_FALSE(plant(false, 1e-2));
}

TEST_F(GoldenCheckTest, FrozenParameterMustGetNoGradient) {
  GoldenCase golden = tampered("transition", [](auto& t) { t.erase("gparam.fc1.weight"); });
  EXPECT_THROW(check_golden(golden), InputError);  // neither listed as frozen nor given
  golden.config["frozen_params"] = {"fc1.weight"};
  EXPECT_TRUE(check_golden(golden).passed());
  golden.config["frozen_params"] = nlohmann::ordered_json::array();
  golden.config["params_without_grad"] = {"fc1.weight"};
  EXPECT_FALSE(check_golden(golden).passed());  // it does get one
}

TEST_F(GoldenCheckTest, AnotherFileThanTheIndexedOneIsRefused) {
  GoldenCase golden = tampered("transition", [](auto&) {});
  golden.sha256[0] = golden.sha256[0] == '0' ? '1' : '0';
  EXPECT_THROW(check_golden(golden), InputError);
  golden = committed("transition");
  golden.bytes += 1;
  EXPECT_THROW(check_golden(golden), InputError);
}

TEST_F(GoldenCheckTest, WrongParameterOrderIsRefused) {
  GoldenCase golden = committed("transition");
  std::swap(golden.parameters[2], golden.parameters[3]);
  EXPECT_THROW(check_golden(golden), ContractError);
}

}  // namespace
