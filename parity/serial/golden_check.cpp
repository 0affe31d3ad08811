#include "parity/serial/golden_check.hpp"

#include <torch/autograd.h>
#include <torch/utils.h>

#include <algorithm>
#include <limits>
#include <sstream>
#include <utility>

#include "error/error.hpp"
#include "parity/serial/golden_operation.hpp"

namespace cpize::parity {
namespace {

/// Largest measure over the positions where `where` is true (everywhere when undefined); the scale is that of the whole
/// tensor.
double measure(const at::Tensor& ours, const at::Tensor& golden, const at::Tensor& where = {}) {
  if (golden.numel() == 0) return 0;
  const at::Tensor a = ours.detach().to(at::kDouble);
  const at::Tensor b = golden.to(at::kDouble);
  at::Tensor ratio = (a - b).abs() / (b.abs() + 1e-3 * b.abs().max() + 1e-5);
  if (where.defined()) ratio = ratio.masked_select(where.expand_as(ratio));
  return ratio.numel() == 0 ? 0 : ratio.max().item<double>();  // max propagates NaN
}

class Check {
 public:
  explicit Check(const GoldenCase& golden) : golden_(golden), file_(read_golden_file(golden)) {}

  GoldenResult run() {
    GoldenArguments arguments(golden_, prepare_inputs());
    GoldenOperation operation = make_operation(golden_, arguments);
    operation.module->to(dtype());
    operation.module->train(golden_.config.at("mode") == "train");
    load_parameters(*operation.module);
    const safetensors::Tensors outputs = operation.call(arguments);
    for (const std::string& name : arguments.ignored()) problem(name + " is given by the case and was not used");
    compare_outputs(outputs);
    if (result_.problems.empty() && golden_.config.at("backward").get<bool>()) {
      backward(outputs);
      compare_input_gradients();
      compare_parameter_gradients(*operation.module);
    }
    if (result_.comparisons.empty()) problem("nothing was compared");
    return std::move(result_);
  }

 private:
  at::ScalarType dtype() const {
    const std::string name = golden_.config.at("dtype").get<std::string>();
    if (name == "float64") return at::kDouble;
    if (name == "float32") return at::kFloat;
    throw InputError(golden_.name + ", config.dtype", "unknown dtype " + name);
  }

  double tolerance() const {
    if (dtype() != at::kDouble) return 1e-3;
    return golden_.config.at("fp32_internal").get<bool>() ? 1e-5 : 1e-8;
  }

  void problem(std::string text) { result_.problems.push_back(std::move(text)); }

  const at::Tensor* find(const std::string& key) const {
    const auto found = file_.tensors.find(key);
    return found == file_.tensors.end() ? nullptr : &found->second;
  }

  const at::Tensor& need(const std::string& key) const {
    const at::Tensor* found = find(key);
    if (found == nullptr) throw InputError(golden_.file.string() + ", " + key, "the case lacks this tensor");
    return *found;
  }

  std::vector<std::string> keys(const std::string& prefix) const {
    std::vector<std::string> found;
    for (const auto& [key, unused] : file_.tensors) {
      if (key.starts_with(prefix)) found.push_back(key.substr(prefix.size()));
    }
    return found;
  }

  safetensors::Tensors prepare_inputs() {
    safetensors::Tensors inputs;
    for (const std::string& name : keys("in.")) inputs["in." + name] = need("in." + name);
    for (const std::string& name : golden_.config_names("grad_inputs")) {
      inputs_with_gradient_[name] = need("in." + name).clone().requires_grad_(true);
      inputs["in." + name] = inputs_with_gradient_[name];
    }
    return inputs;
  }

  /// The block's parameters must be exactly the published ones, in their order.
  void load_parameters(torch::nn::Module& module) {
    const auto buffers = golden_.config_names("buffers");
    std::vector<std::string> published;
    std::copy_if(golden_.parameters.begin(), golden_.parameters.end(), std::back_inserter(published),
                 [&](const std::string& name) { return !buffers.contains(name); });
    const auto parameters = module.named_parameters();
    if (parameters.keys() != published) {
      throw ContractError(golden_.name + ": the block's parameters [" + c10::Join(", ", parameters.keys()) +
                          "] are not the published ones [" + c10::Join(", ", published) + "]");
    }
    const auto frozen = golden_.config_names("frozen_params");
    torch::NoGradGuard no_grad;
    for (const auto& item : parameters) {
      const at::Tensor& value = need("param." + item.key());
      if (value.sizes() != item.value().sizes()) {
        throw ContractError(golden_.name + ": " + item.key() + " has shape " + c10::str(item.value().sizes()) +
                            ", published is " + c10::str(value.sizes()));
      }
      at::Tensor parameter = item.value();
      parameter.copy_(value);
      parameter.requires_grad_(!frozen.contains(item.key()));
    }
  }

  void compare(const std::string& key, const at::Tensor& ours) {
    const at::Tensor& golden = need(key);
    if (ours.sizes() != golden.sizes() || ours.scalar_type() != golden.scalar_type()) {
      problem(key + " is " + c10::toString(ours.scalar_type()) + c10::str(ours.sizes()) + ", expected " +
              c10::toString(golden.scalar_type()) + c10::str(golden.sizes()));
      return;
    }
    const at::Tensor* strict = key.starts_with("out.") ? find("omask." + key.substr(4)) : nullptr;
    if (strict == nullptr) {
      // Stored rounding of a float32 case says nothing below the floor of the measure itself.
      const bool only_floor = golden_.rounding_only.contains(key) && dtype() != at::kDouble;
      result_.comparisons.push_back({key, measure(ours, golden), only_floor ? 1.0 : tolerance()});
      return;
    }
    result_.comparisons.push_back({key, measure(ours, golden, *strict), tolerance()});
    result_.comparisons.push_back(
        {key + " (padding)", measure(ours, golden, strict->logical_not()), std::max(1e-4, tolerance())});
  }

  void compare_outputs(const safetensors::Tensors& outputs) {
    for (const std::string& name : keys("out.")) {
      const auto found = outputs.find(name);
      if (found == outputs.end()) {
        problem("out." + name + " was not computed");
      } else {
        compare("out." + name, found->second);
      }
    }
    for (const auto& [name, unused] : outputs) {
      if (find("out." + name) == nullptr) problem("the operation returns " + name + ", which the case does not know");
    }
  }

  /// All given output gradients in one pass.
  void backward(const safetensors::Tensors& outputs) {
    std::vector<at::Tensor> roots, gradients;
    for (const std::string& name : keys("gout.")) {
      const auto found = outputs.find(name);
      if (found == outputs.end()) throw InputError(golden_.file.string() + ", gout." + name, "belongs to no output");
      roots.push_back(found->second);
      gradients.push_back(need("gout." + name));
    }
    if (roots.empty()) throw InputError(golden_.file.string(), "config.backward is true and there is no gout");
    torch::autograd::backward(roots, gradients);
  }

  void compare_input_gradients() {
    for (const auto& [name, input] : inputs_with_gradient_) {
      if (!input.grad().defined()) {
        problem("gin." + name + " was not computed");
      } else {
        compare("gin." + name, input.grad());
      }
    }
    for (const std::string& name : keys("gin.")) {
      if (!inputs_with_gradient_.contains(name))
        problem("gin." + name + " is given and config.grad_inputs does not list it");
    }
  }

  void compare_parameter_gradients(const torch::nn::Module& module) {
    auto without = golden_.config_names("frozen_params");
    without.merge(golden_.config_names("params_without_grad"));
    for (const auto& item : module.named_parameters()) {
      const std::string key = "gparam." + item.key();
      const at::Tensor gradient = item.value().grad();
      if (without.contains(item.key())) {
        if (gradient.defined()) problem(key + " was computed for a parameter that gets no gradient");
      } else if (!gradient.defined()) {
        problem(key + " was not computed");
      } else {
        compare(key, gradient);
      }
    }
    const auto known = module.named_parameters();
    for (const std::string& name : keys("gparam.")) {
      if (!known.contains(name)) problem("gparam." + name + " belongs to no parameter");
    }
  }

  const GoldenCase& golden_;
  safetensors::File file_;
  safetensors::Tensors inputs_with_gradient_;
  GoldenResult result_;
};

}  // namespace

bool GoldenResult::passed() const {
  return problems.empty() && !comparisons.empty() &&
         std::all_of(comparisons.begin(), comparisons.end(), [](const auto& c) { return c.passed(); });
}

const GoldenComparison& GoldenResult::worst() const {
  const auto margin = [](const GoldenComparison& c) {
    return c.passed() ? c.difference / c.tolerance : std::numeric_limits<double>::infinity();
  };
  return *std::max_element(comparisons.begin(), comparisons.end(),
                           [&](const auto& a, const auto& b) { return margin(a) < margin(b); });
}

std::string GoldenResult::failures() const {
  std::ostringstream text;
  for (const std::string& problem : problems) text << problem << "\n";
  for (const GoldenComparison& c : comparisons) {
    if (!c.passed()) text << c.name << ": difference " << c.difference << " over tolerance " << c.tolerance << "\n";
  }
  return text.str();
}

GoldenResult check_golden(const GoldenCase& golden) { return Check(golden).run(); }

}  // namespace cpize::parity
