#include "parity/lifecycle/serial_training.hpp"

#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lifecycle/target_loss.hpp"
#include "parity/lifecycle/trunk_training.hpp"
#include "serial/padding.hpp"

namespace cpize::parity {
namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

using Group = torch::optim::OptimizerParamGroup;

/// Weight decay by the names of the trunk, written out: norms, relative positions and bonds do not decay.
bool serial_decays(const std::string& name) {
  for (const char* part : {"norm", "rel_pos.", "token_bonds"})
    if (name.find(part) != std::string::npos) return false;
  return true;
}

std::unique_ptr<torch::optim::AdamW> make_optimizer(torch::nn::Module& module) {
  std::vector<at::Tensor> decayed, others;
  for (const auto& item : module.named_parameters())
    if (item.value().requires_grad()) (serial_decays(item.key()) ? decayed : others).push_back(item.value());
  const auto options = [](double decay) {
    return std::make_unique<torch::optim::AdamWOptions>(
        torch::optim::AdamWOptions(0).betas({0.9, 0.95}).eps(1e-8).weight_decay(decay));
  };
  std::vector<Group> groups{Group(decayed, options(0.003)), Group(others, options(0))};
  return std::make_unique<torch::optim::AdamW>(groups, torch::optim::AdamWOptions(0));
}

/// Sums that one element passes through, one after the other, forward and backward: two pair tracks with two triangle
/// multiplications and two attentions each, the outer product mean, an average and an attention over tokens;
/// projections over channels and features; the pairs that a parameter gradient is summed over.
double terms(std::int64_t batch, std::int64_t tokens, std::int64_t rows, const serial::TrunkOptions& o) {
  const std::int64_t projections = 40 * o.rel_pos.token_z + 8 * o.token_s + 4 * 256 + 1024 + 67;
  return 2.0 * static_cast<double>(11 * tokens + rows + projections) + static_cast<double>(batch * tokens * tokens);
}

double largest(const at::Tensor& x) { return x.detach().abs().max().item<double>(); }

}  // namespace

SerialTraining train_serially(const features::Features& batch, std::int64_t steps) {
  const serial::TrunkOptions options = serial_trunk_options();
  serial::Trunk trunk(options);
  draw_trunk(*trunk);
  const auto features = serial::TrunkFeatures::from(
      [&](const std::string& name) {
        const at::Tensor& x = batch.at(name);
        return x.is_floating_point() ? x.to(at::kDouble) : x;
      },
      options);
  const at::Tensor& tokens = features.token_pad_mask;
  const at::Tensor pairs = serial::pair_mask(tokens);
  const lifecycle::TrainerOptions training = training_options();
  const auto optimizer = make_optimizer(*trunk);
  const lifecycle::NamedTensors trainable = lifecycle::trainable_parameters(*trunk);
  const double relative = 16 * eps * std::sqrt(terms(pairs.size(0), pairs.size(1), features.msa.msa.size(1), options));

  std::vector<at::Tensor> parameters;
  for (const auto& item : trainable) parameters.push_back(item.second);
  SerialTraining run;
  for (const auto& item : trainable) {
    run.averages[item.first] = item.second.detach().clone();
    run.budgets[item.first] = at::zeros_like(item.second.detach());
  }
  for (std::int64_t step = 0; step < steps; ++step) {
    optimizer->zero_grad();
    const auto out = trunk(
        features,
        serial::TrunkCall{.recycling_steps = 1,
                          .dropout = serial::Dropout(random::uniform_source(dropout_stream(training.seed, step)))});
    const auto distance = [&](const char* output, const at::Tensor& x, const at::Tensor& mask) {
      at::Tensor valid = mask;
      while (valid.dim() < x.dim()) valid = valid.unsqueeze(-1);
      const at::Tensor target = lifecycle::target_values(target_stream(output, training.seed, step), x.sizes());
      const double values = static_cast<double>(x.numel()) / static_cast<double>(mask.numel());
      return ((x - target) * valid).square().sum() / (mask.sum().item<double>() * values);
    };
    const at::Tensor loss = distance("s", out.s, tokens) + distance("z", out.z, pairs) +
                            distance("pdistogram", out.pdistogram, pairs) + distance("bfactor", out.bfactor, tokens);
    loss.backward();

    double loss_budget = relative * loss.item<double>();
    for (const auto& item : trainable)
      loss_budget += (item.second.grad().abs() * run.budgets[item.first]).sum().item<double>();
    run.losses.push_back(loss.item<double>());
    run.loss_budgets.push_back(loss_budget);

    const double norm = torch::nn::utils::clip_grad_norm_(parameters, training.clip_norm);
    if (step == 0) {
      run.first_gradient_norm = norm;
      run.first_gradient_norm_budget = relative * norm;
    }
    const double rate = training.learning_rate.at(step), t = static_cast<double>(step + 1);
    for (auto& group : optimizer->param_groups()) static_cast<torch::optim::AdamWOptions&>(group.options()).lr(rate);
    optimizer->step();

    at::NoGradGuard no_grad;
    const double decay = std::min(training.ema->decay, (1 + t) / (10 + t));
    double largest_of_all = 0;
    for (const auto& item : trainable) largest_of_all = std::max(largest_of_all, largest(item.second.grad()));
    for (const auto& item : trainable) {
      const at::Tensor& p = item.second;
      // A gradient below the rounding of the largest is rounding (what shifts all logits of a softmax alike): its error
      // is that of the terms that cancelled.
      const double own = largest(p.grad()), scale = own <= relative * largest_of_all ? largest_of_all : own;
      const auto& state = static_cast<torch::optim::AdamWParamState&>(*optimizer->state().at(p.unsafeGetTensorImpl()));
      const at::Tensor root = (state.exp_avg_sq() / (1 - std::pow(0.95, t))).sqrt().add_(1e-8);
      run.budgets[item.first] += 4 * rate * relative * scale / root + 4 * eps * p.abs();
      run.averages[item.first].mul_(decay).add_(p, 1 - decay);
    }
  }
  for (const auto& item : trainable) run.weights[item.first] = item.second.detach().clone();
  return run;
}

}  // namespace cpize::parity
