#include "parity/harness/parameters.hpp"

#include <ATen/ATen.h>

#include <cmath>

#include "error/error.hpp"
#include "parity/harness/runs.hpp"

namespace cpize::parity {

NamedParameters parameters_of(const torch::nn::Module* module) {
  NamedParameters list;
  if (module)
    for (const auto& item : module->named_parameters()) list.emplace_back(item.key(), item.value());
  return list;
}

std::vector<std::string> constant_parameters(const torch::nn::Module* module) {
  std::vector<std::string> names;
  for (const auto& [name, p] : parameters_of(module)) {
    const at::Tensor flat = p.detach().flatten();
    const bool constant = flat.numel() > 1 ? flat.eq(flat[0]).all().item<bool>() : flat.eq(0).all().item<bool>();
    if (constant) names.push_back(name);
  }
  return names;
}

int perturb(torch::nn::Module& module, const std::string& seed, double strength) {
  at::NoGradGuard no_grad;
  module.to(at::kDouble);
  const auto constant = static_cast<int>(constant_parameters(&module).size());
  for (auto& [name, p] : parameters_of(&module)) {
    at::Generator generator = generator_for(seed + " parameter " + name);
    const double scale = p.dim() > 1 ? 1 / std::sqrt(static_cast<double>(p.numel() / p.size(0))) : 0.3;
    p.add_(at::randn(p.sizes(), generator, at::kDouble), scale * strength);
  }
  return constant;
}

void round_parameters(torch::nn::Module& module, at::ScalarType dtype) {
  at::NoGradGuard no_grad;
  for (auto& [name, p] : parameters_of(&module)) p.copy_(p.to(dtype));
}

void copy_parameters(const torch::nn::Module* serial, torch::nn::Module* port, const std::string& block,
                     const c10::TensorOptions& options) {
  at::NoGradGuard no_grad;
  if (port) port->to(options.device(), c10::typeMetaToScalarType(options.dtype()));
  std::map<std::string, at::Tensor> from, to;
  for (const auto& [name, p] : parameters_of(serial)) from[name] = p;
  for (const auto& [name, p] : parameters_of(port)) to[name] = p;
  std::string missing, unexpected;
  for (const auto& [name, p] : from)
    if (!to.contains(name)) missing += " " + name;
  for (const auto& [name, p] : to)
    if (!from.contains(name)) unexpected += " " + name;
  if (!missing.empty() || !unexpected.empty())
    throw ContractError(
        block + ": the port's parameters are not the serial block's. Missing:" + (missing.empty() ? " none" : missing) +
        "; unexpected:" + (unexpected.empty() ? " none" : unexpected));
  for (auto& [name, p] : to) {
    if (p.sizes() != from[name].sizes())
      throw ContractError(block + ": parameter " + name + " has another shape than in the serial block");
    p.copy_(from[name]);
  }
  if (!serial || !port) return;
  const auto buffers = serial->named_buffers();
  for (auto& item : port->named_buffers())
    if (const auto* value = buffers.find(item.key())) item.value().copy_(*value);
}

}  // namespace cpize::parity
