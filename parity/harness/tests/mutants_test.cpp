// Wrong ports must be red, with the right reason, as the tool judges them; the honest port must be green on every mesh.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "error/error.hpp"
#include "judge.hpp"
#include "parity/harness/block_parity.hpp"
#include "parity/harness/tests/toy_case.hpp"

namespace cpize::parity {
namespace {

tool::CellJudgement judge(const BlockCase& block, const MeshShape& mesh, const std::string& dtype = "fp64") {
  Measurement measurement("block");
  const std::string name = mesh.str() + "/threads/" + dtype + "/cpu";
  measure_block_cell(block, Setting::of(CellName::parse(name)), {}, measurement.cell(name));
  return tool::judge_cell("block", 3, nlohmann::json::parse(measurement.json()).at("cells").at(name));
}

struct Expected {
  Mutant mutant;
  MeshShape mesh;
  std::string why;  // a part of the judgement's line
  std::string dtype = "fp64";
};

void PrintTo(const Expected& e, std::ostream* out) {
  *out << static_cast<int>(e.mutant) << " on " << e.mesh.str() << " in " << e.dtype;
}

class Mutants : public testing::TestWithParam<Expected> {};

TEST_P(Mutants, AreRedWithTheRightReason) {
  const auto judgement = judge(toy_case(GetParam().mutant), GetParam().mesh, GetParam().dtype);
  std::cout << judgement.why << "\n";
  EXPECT_FALSE(judgement.ok);
  EXPECT_NE(judgement.why.find(GetParam().why), std::string::npos) << judgement.why;
}

INSTANTIATE_TEST_SUITE_P(
    Toy, Mutants,
    testing::Values(Expected{Mutant::not_transposed, {1, 1, 1}, "over tolerance: output z"},
                    Expected{Mutant::not_transposed, {1, 2, 3}, "over tolerance: output z"},
                    Expected{Mutant::drops_gradient, {1, 2, 2}, "over tolerance: gradient p.weight"},
                    Expected{Mutant::ignores_mask, {1, 1, 2}, "over tolerance:"},
                    Expected{Mutant::averages_axis, {1, 2, 2}, "over tolerance: gradient u.weight"},
                    Expected{Mutant::off_by_one, {1, 2, 2}, "over tolerance: output z"},
                    Expected{Mutant::leaks_padding, {1, 1, 2}, "poison_invariant"},
                    Expected{Mutant::replicas_differ, {1, 2, 2}, "replicas_identical"},
                    Expected{Mutant::holds_everything, {1, 3, 3}, "over bound: sent_bytes.forward"}));

INSTANTIATE_TEST_SUITE_P(
    ToyInLowPrecision, Mutants,
    testing::Values(Expected{Mutant::not_transposed, {1, 1, 1}, "over tolerance:", "bf16"},
                    Expected{Mutant::drops_gradient, {1, 2, 2}, "over tolerance: gradient p.weight", "bf16"},
                    Expected{Mutant::drops_gradient, {1, 2, 2}, "over tolerance: gradient p.weight", "fp32"},
                    Expected{Mutant::ignores_mask, {1, 1, 2}, "over tolerance:", "bf16"},
                    Expected{Mutant::averages_axis, {1, 2, 2}, "over tolerance: gradient u.weight", "bf16"},
                    Expected{Mutant::off_by_one, {1, 2, 2}, "over tolerance:", "bf16"},
                    Expected{Mutant::leaks_padding, {1, 1, 2}, "poison_invariant", "fp32"},
                    Expected{Mutant::leaks_padding, {1, 1, 2}, "poison_invariant", "bf16"},
                    Expected{Mutant::replicas_differ, {1, 2, 2}, "replicas_identical", "fp32"},
                    Expected{Mutant::replicas_differ, {1, 2, 2}, "replicas_identical", "bf16"},
                    Expected{Mutant::rounds_early, {1, 1, 2}, "over tolerance:", "fp32"},
                    Expected{Mutant::rounds_early, {1, 1, 2}, "over tolerance:", "bf16"},
                    Expected{Mutant::holds_everything, {1, 3, 3}, "over bound: sent_bytes.forward", "bf16"}));

TEST(Mutants, AnotherParameterNameIsAnErrorThatNamesBoth) {
  try {
    judge(toy_case(Mutant::other_name), {1, 1, 2});
    FAIL() << "the case ran";
  } catch (const ContractError& e) {
    EXPECT_NE(std::string(e.what()).find("Missing: u.weight; unexpected: v.weight"), std::string::npos) << e.what();
  }
}

class Honest : public testing::TestWithParam<std::string> {};

TEST_P(Honest, PortIsGreen) {
  const auto judgement = judge(toy_case(Mutant::none), MeshShape::parse(GetParam()));
  EXPECT_TRUE(judgement.ok) << judgement.why;
  EXPECT_TRUE(judgement.not_applicable.empty());
}

TEST(HonestPort, IsGreenInLowPrecision) {
  for (const char* dtype : {"fp32", "bf16"})
    for (const MeshShape& mesh : {MeshShape(1, 1, 1), MeshShape(1, 2, 2), MeshShape(2, 1, 2)}) {
      const auto judgement = judge(toy_case(Mutant::none), mesh, dtype);
      EXPECT_TRUE(judgement.ok) << dtype << " on " << mesh.str() << ": " << judgement.why;
    }
}

INSTANTIATE_TEST_SUITE_P(Toy, Honest, testing::Values("1x1x1", "1x1x2", "1x2x2", "1x2x3", "1x3x3", "2x1x2"));

}  // namespace
}  // namespace cpize::parity
