// Replicated parameters under sharded tokens: one LayerNorm over 5 tokens on 2 ranks stays equal on all ranks, equals
// serial, and planted mistakes in the gradient rule are caught. Then what Trainer refuses.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <torch/nn/modules/normalization.h>
#include <torch/optim/adamw.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "comm/run_ranks.hpp"
#include "error/error.hpp"
#include "layout/sharded.hpp"
#include "lifecycle/fingerprint.hpp"
#include "lifecycle/target_loss.hpp"
#include "lifecycle/trainer.hpp"

namespace cpize::lifecycle {
namespace {

constexpr std::int64_t tokens = 5, channels = 4;
const MeshShape two_ranks(1, 1, 2);

struct Norm : torch::nn::Module {
  torch::nn::LayerNorm norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({channels})));
  Norm() { to(at::kDouble); }
};

at::Tensor input() { return target_values(random::Stream(1, "input"), {1, tokens, channels}); }
at::Tensor target(std::int64_t step) { return target_values(random::Stream(1, "target", step), {1, tokens, channels}); }

TrainingModel norm_model(const MeshPtr& mesh) {
  auto module = std::make_shared<Norm>();
  const auto x = shard<Single>(input(), mesh);
  return {module, [=](const StepContext& context) {
            const auto t = shard<Single>(target(context.step), mesh);
            return (module->norm(x.local()) - t.local()).square().sum() / static_cast<double>(tokens * channels);
          }};
}

TrainerOptions plain_options() {
  TrainerOptions options;
  options.learning_rate = {.base = 0.01, .peak = 0.01, .warmup_steps = 1'000'000};
  options.clip_norm = 0;
  options.check_replicas_every = 1;
  return options;
}

struct NormRun {
  std::vector<std::map<std::string, at::Tensor>> weights;  // by rank
  std::vector<double> losses, gradient_norms;              // of rank 0
};

NormRun train_norm(int steps, const TrainerOptions& options) {
  NormRun run;
  run.weights.resize(static_cast<std::size_t>(two_ranks.size()));
  comm::run_ranks(two_ranks, [&](const MeshPtr& mesh) {
    const TrainingModel model = norm_model(mesh);
    Trainer trainer(model, mesh, options);
    for (int i = 0; i < steps; ++i) {
      const StepResult result = trainer.step();
      if (mesh->rank() != 0) continue;
      run.losses.push_back(result.loss);
      run.gradient_norms.push_back(result.gradient_norm);
    }
    for (const auto& [name, tensor] : state_of(*model.module))
      run.weights[static_cast<std::size_t>(mesh->rank())][name] = tensor.detach().clone();
  });
  return run;
}

NormRun train_norm_serially(int steps) {
  Norm net;
  torch::optim::AdamW optimizer(net.parameters(),
                                torch::optim::AdamWOptions(0).betas({0.9, 0.95}).eps(1e-8).weight_decay(0));
  NormRun run;
  for (int step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    const at::Tensor loss = (net.norm(input()) - target(step)).square().mean();
    loss.backward();
    double squares = 0;
    for (const auto& p : net.parameters()) squares += p.grad().square().sum().item<double>();
    run.losses.push_back(loss.item<double>());
    run.gradient_norms.push_back(std::sqrt(squares));
    static_cast<torch::optim::AdamWOptions&>(optimizer.param_groups()[0].options())
        .lr(plain_options().learning_rate.at(step));
    optimizer.step();
  }
  run.weights.resize(1);
  for (const auto& [name, tensor] : state_of(net)) run.weights[0][name] = tensor.detach().clone();
  return run;
}

/// Empty, or what is off. Budget: a gradient sums 5 tokens, after sums over 4 channels; AdamW multiplies its relative
/// error by at most 4 a step and by the rate (each gradient here is far above epsilon): 16 eps sqrt(9) * 4 * 0.01 a
/// step, and 4 eps a step for the weight (about 1) itself.
std::string off_from_serial(const NormRun& run, const NormRun& serial) {
  constexpr double eps = std::numeric_limits<double>::epsilon();
  const auto steps = static_cast<double>(serial.losses.size());
  for (std::size_t i = 0; i < serial.losses.size(); ++i) {
    if (!(std::abs(run.losses[i] - serial.losses[i]) <= 16 * eps * 3 * (1 + steps))) return "loss";
    if (!(std::abs(run.gradient_norms[i] - serial.gradient_norms[i]) <= 16 * eps * 3 * (1 + steps)))
      return "gradient norm";
  }
  for (const auto& [name, tensor] : serial.weights[0])
    if (!((run.weights[0].at(name) - tensor).abs().max().item<double>() <= steps * (16 * eps * 3 * 0.04 + 4 * eps)))
      return name;
  return "";
}

TEST(Replicas, ALayerNormOverUnevenTokensStaysEqualAndSerial) {
  for (const int steps : {1, 10}) {
    const NormRun run = train_norm(steps, plain_options());
    EXPECT_EQ(fingerprint(run.weights[0]), fingerprint(run.weights[1])) << steps;
    EXPECT_EQ(off_from_serial(run, train_norm_serially(steps)), "") << steps;
    EXPECT_FALSE(at::equal(run.weights[0].at("norm.bias"), at::zeros({channels}, at::kDouble)));
  }
}

TEST(Replicas, UnreducedGradientsAreCaughtByTheFingerprint) {
  TrainerOptions options = plain_options();
  options.finish_gradients = [](const auto&, const auto&) {};
  try {
    train_norm(1, options);
    FAIL() << "weights that differ between ranks went unnoticed";
  } catch (const ContractError& e) {
    EXPECT_NE(std::string(e.what()).find("step 1: fingerprint of replicated tensor 'norm."), std::string::npos)
        << e.what();
  }
  options.check_replicas_every = 10;  // found later, not never
  EXPECT_THROW(train_norm(10, options), ContractError);
  options.check_replicas_every = 0;
  const NormRun run = train_norm(10, options);
  EXPECT_NE(fingerprint(run.weights[0]), fingerprint(run.weights[1])) << "the mistake is real";
  EXPECT_NE(off_from_serial(run, train_norm_serially(10)), "");
}

TEST(Replicas, AMeanWhereASumIsRightIsCaughtBySerial) {
  TrainerOptions options = plain_options();
  options.finish_gradients = [](const std::vector<at::Tensor>& parameters, const DeviceMesh& mesh) {
    reduce_gradients(parameters, mesh);
    at::NoGradGuard no_grad;
    for (const auto& p : parameters) p.grad().div_(mesh.size());
  };
  const NormRun run = train_norm(1, options);
  EXPECT_EQ(fingerprint(run.weights[0]), fingerprint(run.weights[1])) << "replicas agree, so only serial can tell";
  // AdamW hardly sees the scale of a gradient: the weights alone would be a weak witness, the gradient norm is not.
  EXPECT_EQ(off_from_serial(run, train_norm_serially(1)), "gradient norm");
}

TEST(Replicas, ResultsThatAreNotFiniteEndTheStepOnEveryRankAndChangeNothing) {
  const auto failures = comm::run_ranks_collect(two_ranks, [](const MeshPtr& mesh) {
    TrainingModel model = norm_model(mesh);
    const auto finite = model.loss_share;
    model.loss_share = [=](const StepContext& context) {  // only rank 1's share is bad, and only at the second step
      const at::Tensor share = finite(context);
      return mesh->rank() == 1 && context.step == 1 ? share / 0.0 : share;
    };
    Trainer trainer(model, mesh, plain_options());
    trainer.step();
    const auto before = fingerprint(by_name(state_of(*model.module)));
    const auto moments = fingerprint(by_name(trainer.optimizer().state()));
    try {
      trainer.step();
    } catch (const Error& e) {
      if (fingerprint(by_name(state_of(*model.module))) != before ||
          fingerprint(by_name(trainer.optimizer().state())) != moments || trainer.steps_done() != 1)
        throw std::logic_error("something was changed");
      throw std::runtime_error(e.what());
    }
  });
  for (const auto& failure : failures) {
    ASSERT_TRUE(failure);
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      const std::string text = e.what();
      EXPECT_NE(text.find("step 2 is not finite on 2 of 2 ranks"), std::string::npos) << text;
      EXPECT_NE(text.find("norm.weight"), std::string::npos) << text;
    }
  }
}

class ResumeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "cpize_resume.XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    comm::run_ranks(two_ranks, [&](const MeshPtr& mesh) {
      Trainer trainer(norm_model(mesh), mesh, plain_options());
      trainer.step();
      trainer.save(root_ / "c");
    });
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string resume_error(const TrainerOptions& options) const {
    try {
      comm::run_ranks(two_ranks, [&](const MeshPtr& mesh) {
        const TrainingModel model = norm_model(mesh);
        Trainer trainer(model, mesh, options);
        const auto before = fingerprint(by_name(state_of(*model.module)));
        try {
          trainer.resume(root_ / "c");
        } catch (const InputError&) {
          if (fingerprint(by_name(state_of(*model.module))) != before || trainer.steps_done() != 0)
            throw std::logic_error("something was changed");
          throw;
        }
      });
    } catch (const InputError& e) {
      return e.what();
    }
    return "no InputError";
  }

  std::filesystem::path root_;
};

TEST_F(ResumeTest, ListsEverythingThatDoesNotFitAtOnce) {
  Checkpoint c = read_checkpoint(root_ / "c");
  c.weights["norm.gain"] = c.weights.at("norm.weight");
  c.weights.erase("norm.weight");
  c.weights["norm.bias"] = c.weights.at("norm.bias").to(at::kFloat);
  c.optimizer["step.norm.bias"] = at::zeros({1}, at::kLong);
  c.optimizer.erase("exp_avg.norm.weight");
  c.ema->erase("norm.bias");
  c.manifest.seed = 5;
  write_checkpoint(root_ / "c", c);
  const std::string text = resume_error(plain_options());
  for (const char* part : {"weights: 1 missing: norm.weight", "1 unexpected: norm.gain",
                           "norm.bias: Float [4] in the file, Double [4]", "optimizer: 1 missing: exp_avg.norm.weight",
                           "step.norm.bias: Long [1]", "ema: 1 missing: norm.bias", "seed is 5"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
}

TEST_F(ResumeTest, AnAverageMustBeOnBothSides) {
  TrainerOptions options = plain_options();
  options.ema.reset();
  EXPECT_NE(resume_error(options).find("this run keeps none"), std::string::npos);
  Checkpoint c = read_checkpoint(root_ / "c");
  c.ema.reset();
  write_checkpoint(root_ / "c", c);
  EXPECT_EQ(resume_error(options), "no InputError");
  EXPECT_NE(resume_error(plain_options()).find("this run keeps one"), std::string::npos);
}

TEST_F(ResumeTest, AnUnreadableCheckpointFailsOnEveryRank) {
  std::filesystem::remove(root_ / "c" / "manifest.json");
  const auto failures = comm::run_ranks_collect(two_ranks, [&](const MeshPtr& mesh) {
    Trainer trainer(norm_model(mesh), mesh, plain_options());
    trainer.resume(root_ / "c");
  });
  for (const auto& failure : failures) EXPECT_TRUE(failure);
}

}  // namespace
}  // namespace cpize::lifecycle
