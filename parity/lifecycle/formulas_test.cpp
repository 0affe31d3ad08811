// Formulas: learning rate and average against the golden cases, AdamW and clipping against torch's own, the
// counter-based stream against itself cut up.
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "error/error.hpp"
#include "layout/layouts.hpp"
#include "lifecycle/adamw.hpp"
#include "lifecycle/ema.hpp"
#include "lifecycle/learning_rate.hpp"
#include "lifecycle/target_loss.hpp"

namespace cpize::lifecycle {
namespace {

using nlohmann::json;

struct Golden {
  json config;
  Tensors tensors;

  /// The committed set, or another one that the environment names.
  static std::string folder() {
    const char* environment = std::getenv("CPIZE_GOLDEN_DIR");
    return environment && *environment ? environment : CPIZE_COMMITTED_GOLDEN_DIR;
  }
  /// Another set may hold other cases; the committed one must hold these.
  static bool absent(const std::string& name) {
    return folder() != CPIZE_COMMITTED_GOLDEN_DIR && !std::filesystem::exists(folder() + "/" + name + ".safetensors");
  }
  explicit Golden(const std::string& name) {
    auto file = safetensors::read(folder() + "/" + name + ".safetensors");
    config = json::parse(file.metadata.at("config"));
    tensors = std::move(file.tensors);
  }
};

LearningRate schedule(const json& c) {
  return {c.at("base_lr"),
          c.at("max_lr"),
          c.at("warmup_no_steps"),
          c.at("start_decay_after_n_steps"),
          c.at("decay_every_n_steps"),
          c.at("decay_factor")};
}

TEST(Formulas, LearningRateIsTheGoldenOne) {
  if (Golden::absent("optim_lr_scheduler")) GTEST_SKIP() << "not in this golden set";
  const Golden golden("optim_lr_scheduler");
  const LearningRate small = schedule(golden.config.at("small")), full = schedule(golden.config.at("full"));
  const at::Tensor& out_small = golden.tensors.at("out.lr_small");
  ASSERT_GT(out_small.numel(), 30);
  for (std::int64_t step = 0; step < out_small.numel(); ++step)
    EXPECT_NEAR(small.at(step), out_small[step].item<double>(), 1e-18) << step;
  const at::Tensor& steps = golden.tensors.at("in.steps_full");
  ASSERT_GT(steps.numel(), 10);
  for (std::int64_t i = 0; i < steps.numel(); ++i)
    EXPECT_NEAR(full.at(steps[i].item<std::int64_t>()), golden.tensors.at("out.lr_full")[i].item<double>(), 1e-18);
  EXPECT_THROW((LearningRate{.warmup_steps = 0}.at(0)), ConfigError);
}

TEST(Formulas, AverageIsTheGoldenOne) {
  if (Golden::absent("optim_ema")) GTEST_SKIP() << "not in this golden set";
  const Golden golden("optim_ema");
  const auto at_step = [&](const std::string& prefix, std::int64_t k) {
    const std::string number = (k < 10 ? "0" : "") + std::to_string(k);
    return std::pair{golden.tensors.at(prefix + ".w." + number), golden.tensors.at(prefix + ".b." + number)};
  };
  ASSERT_EQ(golden.config.at("variants").size(), 3U);
  for (const auto& [variant, c] : golden.config.at("variants").items()) {
    SCOPED_TRACE(variant);
    EmaOptions options;
    options.decay = c.at("decay");
    options.warm_start = c.at("warm_start");
    options.every = c.value("apply_ema_every_n_steps", 1);
    options.start = c.value("start_step", 0);
    const auto [w0, b0] = at_step("in", 0);
    const at::Tensor w = w0.clone(), b = b0.clone();
    Ema ema({{"w", w}, {"b", b}, {"count", at::zeros({}, at::kLong)}}, options);
    ASSERT_EQ(ema.average().size(), 2U) << "integers have no average";
    for (std::int64_t k = 1; k <= 14; ++k) {
      const auto [wk, bk] = at_step("in", k);
      w.copy_(wk);
      b.copy_(bk);
      ema.update(k);
      const auto [we, be] = at_step("out." + variant, k);
      EXPECT_LT((ema.average()[0].second - we).abs().max().item<double>(), 1e-15) << k;
      EXPECT_LT((ema.average()[1].second - be).abs().max().item<double>(), 1e-15) << k;
    }
  }
  EXPECT_THROW(Ema({}, EmaOptions{.every = 0}), ConfigError);
}

struct Net : torch::nn::Module {
  torch::nn::Linear linear = register_module("linear", torch::nn::Linear(5, 4));
  torch::nn::LayerNorm norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({4})));
  explicit Net(std::uint64_t seed) {
    at::NoGradGuard no_grad;
    to(at::kDouble);
    for (const auto& item : named_parameters())
      item.value().copy_(target_values(random::Stream(seed, item.key()), item.value().sizes()));
  }
};

TEST(Formulas, AdamWAndClippingAreTorchs) {
  Net ours(7), theirs(7);
  AdamW adamw(trainable_parameters(ours), {});
  const auto options = [](double decay) {
    return std::make_unique<torch::optim::AdamWOptions>(
        torch::optim::AdamWOptions(0.01).betas({0.9, 0.95}).eps(1e-8).weight_decay(decay));
  };
  std::vector<torch::optim::OptimizerParamGroup> groups{{theirs.linear->parameters(), options(0.003)},
                                                        {theirs.norm->parameters(), options(0)}};
  torch::optim::AdamW torchs(groups, torch::optim::AdamWOptions(0.01));
  bool clipped = false, unclipped = false;
  for (std::int64_t step = 0; step < 8; ++step) {
    for (Net* net : {&ours, &theirs}) {
      net->zero_grad();
      const at::Tensor x = target_values(random::Stream(1, "x", step), {6, 5});
      ((net->norm(net->linear(x)) - target_values(random::Stream(2, "t", step), {6, 4})).square().sum() * 0.05)
          .backward();
    }
    const double norm = gradient_norm(adamw.parameters());
    const double max_norm = step % 2 ? 0.01 : 100;
    (norm > max_norm ? clipped : unclipped) = true;
    EXPECT_NEAR(norm, torch::nn::utils::clip_grad_norm_(theirs.parameters(), max_norm), 1e-14 * norm);
    clip_gradients(adamw.parameters(), norm, max_norm);
    adamw.step(0.01);
    torchs.step();
    for (const auto& item : ours.named_parameters())
      EXPECT_LT((item.value() - theirs.named_parameters()[item.key()]).abs().max().item<double>(), 1e-13)
          << item.key() << " at step " << step;
  }
  EXPECT_TRUE(clipped && unclipped);
}

TEST(Formulas, WhatDecays) {
  const AdamWOptions o;
  for (const char* name :
       {"z_init_1.weight", "s_init.weight", "proj_z.0.weight", "input_embedder.res_type_encoding.weight"})
    EXPECT_TRUE(decays(name, o)) << name;
  for (const char* name : {"rel_pos.linear_layer.weight", "token_bonds.weight", "x.norm_in.weight", "x.pre_norm_s.bias",
                           "x.s_init.weight", "x.z_init_1.weight"})
    EXPECT_FALSE(decays(name, o)) << name;
}

TEST(Formulas, AParameterIsTrainedOnceAndAFrozenOneNever) {
  struct Aliased : torch::nn::Module {
    at::Tensor a = register_parameter("a", at::ones({2}));
    at::Tensor b = register_parameter("b", a);
    at::Tensor frozen = register_parameter("frozen", at::ones({2}), /*requires_grad=*/false);
  } aliased;
  const NamedTensors trainable = trainable_parameters(aliased);
  ASSERT_EQ(trainable.size(), 1U);
  EXPECT_EQ(trainable[0].first, "a");
  EXPECT_EQ(state_of(aliased).size(), 3U);
  EXPECT_THROW(AdamW({}, {}), ConfigError);
}

}  // namespace
}  // namespace cpize::lifecycle
