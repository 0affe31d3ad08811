#include "profile/case_step.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "layout/reduce_gradients.hpp"
#include "map/scope.hpp"

namespace cpize::profile {
namespace {

using parity::TensorInfo;

c10::TensorOptions parameter_options(const parity::Setting& setting) {
  return c10::TensorOptions(setting.device()).dtype(setting.wide());
}

void clear(const torch::nn::Module* module) {
  for (const auto& [name, p] : parity::parameters_of(module)) at::Tensor(p).mutable_grad() = at::Tensor();
}

/// Backward from the outputs that depend on anything.
void backward(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& seeds) {
  std::vector<at::Tensor> roots, gradients;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].requires_grad()) {
      roots.push_back(outputs[i]);
      gradients.push_back(seeds[i]);
    }
  torch::autograd::backward(roots, gradients);
}

}  // namespace

CaseProblem make_case_problem(const parity::BlockCase& block, const parity::Sizes& sizes,
                              const parity::Setting& setting) {
  CaseProblem problem{block, setting, {"cost", block.sizes(), parity::MaskKind::random, 0}, {}, {}, {}};
  parity::Sizes& all = problem.run.sizes;
  for (const auto& [letter, value] : block.cost_sizes()) all.set(letter, value);
  all.set("B", setting.mesh.extent(Axis::dp));
  for (const auto& [letter, value] : sizes) all.set(letter, value);
  problem.run.valid_tokens = all["N"];
  problem.serial = block.make_serial(all);
  if (problem.serial.module) parity::perturb(*problem.serial.module, block.name(), block.perturbation_strength());
  problem.inputs = parity::make_inputs(block, problem.run, parity::Padding::random, setting);
  for (const auto& info : block.outputs()) {
    Shape shape;
    for (const auto& dim : info.dims) shape.push_back(parity::size_of(dim, all));
    at::Generator g = parity::generator_for("profiled output gradient " + info.name);
    problem.output_gradients.set(info.name, at::randn(shape, g, at::kDouble));
  }
  return problem;
}

PortCaseRun::PortCaseRun(const CaseProblem& problem, const MeshPtr& mesh)
    : problem_(problem),
      mesh_(mesh),
      port_(problem.block.make_port(problem.run.sizes)),
      inputs_(parity::shard_inputs(problem.block, problem.inputs, mesh, problem.setting)) {
  parity::copy_parameters(problem.serial.module.get(), port_.module.get(), problem.block.name(),
                          parameter_options(problem.setting));
}

std::vector<at::Tensor> PortCaseRun::forward() {
  const parity::ShardedTensors out = [&] {
    const parity::AutocastScope autocast(problem_.setting);
    return port_.forward(inputs_);
  }();
  std::vector<at::Tensor> local;
  const bool first = seeds_.empty();
  for (const auto& info : problem_.block.outputs()) {
    const AnySharded& o = out[info.name];
    local.push_back(o.local());
    if (first)
      seeds_.push_back(
          parity::seed_for(o.spec(), o.global(), *mesh_, problem_.output_gradients[info.name]).to(o.local().options()));
  }
  return local;
}

void PortCaseRun::step(const AfterForward& after_forward) {
  const std::vector<at::Tensor> outputs = forward();
  if (after_forward) after_forward();
  backward(outputs, seeds_);
  std::vector<at::Tensor> parameters;
  for (const auto& [name, p] : parity::parameters_of(port_.module.get())) parameters.push_back(p);
  const map::Scope scope("reduce_gradients");
  if (!parameters.empty()) reduce_gradients(parameters, *mesh_);
}

void PortCaseRun::clear_gradients() {
  clear(port_.module.get());
  for (const auto& [name, x] : inputs_) at::Tensor(x.local()).mutable_grad() = at::Tensor();
}

std::int64_t PortCaseRun::parameter_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [name, p] : parity::parameters_of(port_.module.get()))
    bytes += static_cast<std::int64_t>(p.nbytes());
  return bytes;
}

SerialCaseRun::SerialCaseRun(const CaseProblem& problem)
    : problem_(problem), block_(problem.block.make_serial(problem.run.sizes)) {
  parity::copy_parameters(problem.serial.module.get(), block_.module.get(), problem.block.name(),
                          parameter_options(problem.setting));
  for (const auto& info : problem.block.inputs()) {
    at::Tensor x = parity::as_given(info, problem.inputs[info.name], problem.setting).clone();
    if (info.kind == TensorInfo::Kind::activation) x.requires_grad_(true);
    inputs_.set(info.name, x);
  }
}

std::vector<at::Tensor> SerialCaseRun::forward() {
  const parity::Tensors out = [&] {
    const parity::AutocastScope autocast(problem_.setting);
    return block_.forward(inputs_);
  }();
  std::vector<at::Tensor> outputs;
  const bool first = seeds_.empty();
  for (const auto& info : problem_.block.outputs()) {
    outputs.push_back(out[info.name]);
    if (first) seeds_.push_back(problem_.output_gradients[info.name].to(outputs.back().options()));
  }
  return outputs;
}

void SerialCaseRun::step(const AfterForward& after_forward) {
  const std::vector<at::Tensor> outputs = forward();
  if (after_forward) after_forward();
  backward(outputs, seeds_);
}

void SerialCaseRun::clear_gradients() {
  clear(block_.module.get());
  for (const auto& [name, x] : inputs_) at::Tensor(x).mutable_grad() = at::Tensor();
}

}  // namespace cpize::profile
