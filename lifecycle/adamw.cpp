#include "lifecycle/adamw.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "error/error.hpp"

namespace cpize::lifecycle {

bool decays(const std::string& name, const AdamWOptions& options) {
  return std::ranges::none_of(options.no_decay,
                              [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

AdamW::AdamW(NamedTensors parameters, AdamWOptions options)
    : parameters_(std::move(parameters)), options_(std::move(options)) {
  if (parameters_.empty()) throw ConfigError("AdamW: no parameter requires a gradient; nothing would be trained");
  for (const auto& [name, p] : parameters_)
    moments_.push_back(
        {at::zeros_like(p.detach()), at::zeros_like(p.detach()), at::zeros({}, at::kLong), decays(name, options_)});
}

void AdamW::step(double learning_rate) {
  at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor p = parameters_[i].second;
    const at::Tensor& g = p.grad();
    if (!g.defined()) continue;
    Moments& state = moments_[i];
    state.step += 1;
    const auto t = static_cast<double>(state.step.item<std::int64_t>());
    if (state.decays) p.mul_(1 - learning_rate * options_.weight_decay);
    state.exp_avg.mul_(options_.beta1).add_(g, 1 - options_.beta1);
    state.exp_avg_sq.mul_(options_.beta2).addcmul_(g, g, 1 - options_.beta2);
    const double correction1 = 1 - std::pow(options_.beta1, t), correction2 = 1 - std::pow(options_.beta2, t);
    const at::Tensor denominator = state.exp_avg_sq.sqrt().div_(std::sqrt(correction2)).add_(options_.epsilon);
    p.addcdiv_(state.exp_avg, denominator, -learning_rate / correction1);
  }
}

NamedTensors AdamW::state() const {
  NamedTensors state;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::string& name = parameters_[i].first;
    state.emplace_back("exp_avg." + name, moments_[i].exp_avg);
    state.emplace_back("exp_avg_sq." + name, moments_[i].exp_avg_sq);
    state.emplace_back("step." + name, moments_[i].step);
  }
  return state;
}

double gradient_norm(const NamedTensors& parameters) {
  double sum = 0;
  for (const auto& [name, p] : parameters) {
    if (!p.grad().defined()) continue;
    const at::Tensor g = p.grad().to(at::promote_types(p.scalar_type(), at::kFloat));
    sum += g.square().sum().item<double>();
  }
  return std::sqrt(sum);
}

void clip_gradients(const NamedTensors& parameters, double norm, double max_norm) {
  const double scale = max_norm / (norm + 1e-6);
  if (!(scale < 1)) return;
  at::NoGradGuard no_grad;
  for (const auto& [name, p] : parameters)
    if (p.grad().defined()) p.grad().mul_(scale);
}

}  // namespace cpize::lifecycle
