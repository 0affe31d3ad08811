#include "serial_training.hpp"

#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lifecycle/pair_target_loss.hpp"
#include "slice_training.hpp"

namespace cpize::parity {
namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

using Group = torch::optim::OptimizerParamGroup;

/// Weight decay by the names of the slice, written out: norms, relative positions and bonds do not decay.
bool serial_decays(const std::string& name) {
  return name.find("norm") == std::string::npos && !name.starts_with("rel_pos.") && !name.starts_with("token_bonds.");
}

std::unique_ptr<torch::optim::AdamW> make_optimizer(torch::nn::Module& module) {
  std::vector<at::Tensor> decayed, others;
  for (const auto& item : module.named_parameters())
    (serial_decays(item.key()) ? decayed : others).push_back(item.value());
  const auto options = [](double decay) {
    return std::make_unique<torch::optim::AdamWOptions>(
        torch::optim::AdamWOptions(0).betas({0.9, 0.95}).eps(1e-8).weight_decay(decay));
  };
  std::vector<Group> groups{Group(decayed, options(0.003)), Group(others, options(0))};
  return std::make_unique<torch::optim::AdamW>(groups, torch::optim::AdamWOptions(0));
}

/// Sums that one element passes through, one after the other, forward and backward: two triangle multiplications over
/// tokens, projections over channels and features, and the pairs that a parameter gradient is summed over.
double terms(std::int64_t batch, std::int64_t tokens) {
  return 2.0 * static_cast<double>(2 * tokens + 8 * slice_token_z + slice_token_s + 67) +
         static_cast<double>(batch * tokens * tokens);
}

double largest(const at::Tensor& x) { return x.detach().abs().max().item<double>(); }

}  // namespace

SerialTraining train_serially(const features::Features& batch, std::int64_t steps) {
  serial::PairSliceOptions options;
  options.token_s = slice_token_s;
  options.rel_pos.token_z = slice_token_z;
  serial::PairSlice slice(options);
  draw_slice(*slice);
  const auto features = serial::PairSliceFeatures::from([&](const std::string& name) {
    const at::Tensor& x = batch.at(name);
    return x.is_floating_point() ? x.to(at::kDouble) : x;
  });
  const at::Tensor valid = serial::pair_mask(features.token_pad_mask).unsqueeze(-1);
  const double denominator = valid.sum().item<double>() * static_cast<double>(slice_token_z);
  const lifecycle::TrainerOptions training = slice_options();
  const auto optimizer = make_optimizer(*slice);
  const double relative = 16 * eps * std::sqrt(terms(valid.size(0), valid.size(1)));

  SerialTraining run;
  for (const auto& item : slice->named_parameters()) {
    run.averages[item.key()] = item.value().detach().clone();
    run.budgets[item.key()] = at::zeros_like(item.value().detach());
  }
  for (std::int64_t step = 0; step < steps; ++step) {
    optimizer->zero_grad();
    const at::Tensor z = slice(features);
    const at::Tensor target = lifecycle::pair_target(training.seed, step).uniform(z.sizes().vec());
    const at::Tensor loss = ((z - target) * valid).square().sum() / denominator;
    loss.backward();

    double loss_budget = relative * loss.item<double>();
    for (const auto& item : slice->named_parameters())
      loss_budget += (item.value().grad().abs() * run.budgets[item.key()]).sum().item<double>();
    run.losses.push_back(loss.item<double>());
    run.loss_budgets.push_back(loss_budget);

    const double norm = torch::nn::utils::clip_grad_norm_(slice->parameters(), training.clip_norm);
    if (step == 0) {
      run.first_gradient_norm = norm;
      run.first_gradient_norm_budget = relative * norm;
    }
    const double rate = training.learning_rate.at(step), t = static_cast<double>(step + 1);
    for (auto& group : optimizer->param_groups()) static_cast<torch::optim::AdamWOptions&>(group.options()).lr(rate);
    optimizer->step();

    at::NoGradGuard no_grad;
    const double decay = std::min(training.ema->decay, (1 + t) / (10 + t));
    for (const auto& item : slice->named_parameters()) {
      const at::Tensor& p = item.value();
      const auto& state = static_cast<torch::optim::AdamWParamState&>(*optimizer->state().at(p.unsafeGetTensorImpl()));
      const at::Tensor root = (state.exp_avg_sq() / (1 - std::pow(0.95, t))).sqrt().add_(1e-8);
      run.budgets[item.key()] += 4 * rate * relative * largest(p.grad()) / root + 4 * eps * p.abs();
      run.averages[item.key()].mul_(decay).add_(p, 1 - decay);
    }
  }
  for (const auto& item : slice->named_parameters()) run.weights[item.key()] = item.value().detach().clone();
  return run;
}

}  // namespace cpize::parity
