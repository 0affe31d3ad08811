// The cases of phases 0, 4, 6 and 7 see what is wrong with a model: an unknown feature, a scope that never ran, state
// that a checkpoint forgets, a scope without a budget or above it.
#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstdlib>

#include "error/error.hpp"
#include "layout/reduce_gradients.hpp"
#include "lifecycle/draw_parameters.hpp"
#include "map/scope.hpp"
#include "parity/phases/map_case.hpp"
#include "parity/phases/profile_case.hpp"
#include "parity/phases/size_case.hpp"
#include "parity/phases/training_case.hpp"

namespace cpize::parity {
namespace {

constexpr const char* kCell = "1x1x2/threads/fp64/cpu";

Request request() {
  Request r;
  r.cells = {kCell};
  r.by_hand = false;
  r.artifact = (std::filesystem::temp_directory_path() / "cpize_phases_test.md").string();
  return r;
}

std::string fact(const Measurement& m, const std::string& name) { return m.cells().at(kCell).facts().at(name); }

/// y = w x, in a scope.
struct Scale : torch::nn::Module {
  Scale() {
    w = register_parameter("w", at::ones({4}, at::kDouble));
    lifecycle::draw_parameters(*this, 1);
  }
  at::Tensor w;
};

map::MappedModel mapped(const map::AxisSizes& n) {
  auto block = std::make_shared<Scale>();
  map::MappedModel model;
  model.features["x"] = at::ones({n.at("N"), 4}, at::kDouble);
  model.parameters.emplace_back("w", block->w);
  model.run = [block](const map::InstrumentedFeatures& read) {
    const map::Scope scope("scale");
    static_cast<void>(read("x") * block->w);
  };
  return model;
}

TEST(MapCase, ListsWhatIsThereAndMissesWhatIsNot) {
  const auto whole = MapCase("scale", mapped).axis("N", 5, 7).feature("x", {"Single", "", "none"}).scopes({"scale"});
  for (const char* name : {"every_feature_listed", "every_parameter_listed", "every_scope_listed"})
    EXPECT_EQ(fact(measure_map(whole, request()), name), "yes") << name;
  const auto lacking = MapCase("scale", mapped).axis("N", 5, 7).scopes({"scale", "head"});
  EXPECT_EQ(fact(measure_map(lacking, request()), "every_feature_listed"), no("without a layout: x"));
  EXPECT_EQ(fact(measure_map(lacking, request()), "every_scope_listed"), no("never ran: head"));
  EXPECT_THROW(measure_map(MapCase("scale", mapped).axis("N", 5, 7), request()), ContractError);
}

profile::Step scaled_step(const MeshPtr& mesh, std::int64_t n) {
  auto block = std::make_shared<Scale>();
  const at::Tensor x = at::ones({n, 4}, at::kDouble);
  return [=](const profile::AfterForward& after_forward) {
    at::Tensor y;
    {
      const map::Scope scope("scale");
      y = (x * block->w).square();
    }
    if (after_forward) after_forward();
    const map::Scope scope("finish");
    y.sum().backward();
    reduce_gradients({block->w}, *mesh);
  };
}

ProfileCase profiled() {
  return ProfileCase("scale").step([](const MeshPtr& mesh) { return scaled_step(mesh, 1000); });
}

TEST(ProfileCase, HoldsEveryScopeToItsBudget) {
  const auto bytes = [](double value) { return [value](const MeshShape&) { return value; }; };
  const auto good = measure_profile(profiled().budget("scale", bytes(2e5)).budget("finish", bytes(2e5)), request());
  EXPECT_EQ(fact(good, "budget_checked"), "yes");
  EXPECT_EQ(fact(good, "scopes_attributed"), "yes");
  const auto without = measure_profile(profiled().budget("scale", bytes(2e5)), request());
  EXPECT_EQ(fact(without, "budget_checked"), no("no budget for: finish"));
  const auto over = measure_profile(profiled().budget("scale", bytes(100)).budget("finish", bytes(2e5)), request());
  EXPECT_NE(fact(over, "budget_checked").find("over budget: scale holds"), std::string::npos);
  const auto idle = measure_profile(
      profiled().budget("scale", bytes(2e5)).budget("finish", bytes(2e5)).budget("head", bytes(1)), request());
  EXPECT_EQ(fact(idle, "scopes_attributed"), no("nothing was booked to head"));
}

TEST(SizeCase, FindsTheLargestSizeInTheBudget) {
  const auto m = measure_size(SizeCase("scale").step(scaled_step).budget(1 << 20).timed_up_to(64), request());
  EXPECT_EQ(fact(m, "measured_nonempty"), "yes");
  for (const auto& counter : m.cells().at(kCell).counters()) {
    if (counter.name == "max_n") {
      EXPECT_GT(counter.value, 1000);
    }
    if (counter.name == "peak_bytes.max_n") {
      EXPECT_LE(counter.value, *counter.bound);
    }
  }
}

/// Training of the scale; a forgetful one remembers something that no checkpoint holds.
TrainingCase training(bool forgetful) {
  return TrainingCase("scale").steps(2, 4).model([forgetful](const MeshPtr& mesh) -> lifecycle::TrainingModel {
    auto block = std::make_shared<Scale>();
    auto calls = std::make_shared<int>(0);
    const double owner = mesh->rank() == 0 ? 1 : 0;
    return {block, [=](const lifecycle::StepContext& context) {
              const double target = forgetful ? ++*calls : static_cast<double>(context.step + 1);
              return owner * (block->w - target).square().sum();
            }};
  });
}

TEST(TrainingCase, ResumesBitForBitAndSeesWhatIsForgotten) {
  const auto good = measure_training(training(false), request());
  for (const char* name : {"resumed_in_new_process", "bit_equal", "every_parameter_compared", "gradients_nonzero"})
    EXPECT_EQ(fact(good, name), "yes") << name;
  for (const auto& [name, value] : good.cells().at(kCell).sabotages()) EXPECT_EQ(value, "caught") << name;

  ::setenv("CPIZE_TEST_FORGETFUL", "1", 1);
  const auto forgetful = measure_training(training(true), request());
  ::unsetenv("CPIZE_TEST_FORGETFUL");
  EXPECT_NE(fact(forgetful, "bit_equal"), "yes");
}

}  // namespace
}  // namespace cpize::parity

int main(int argc, char** argv) {
  // a forgetful model is asked for by the environment, so that the resumed process has the same one
  const auto make = [] { return cpize::parity::training(std::getenv("CPIZE_TEST_FORGETFUL") != nullptr); };
  if (const auto status = cpize::parity::resumed_main(argc, argv, make)) return *status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
