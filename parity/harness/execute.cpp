#include "parity/harness/execute.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/utils.h>

#include <mutex>

#include "error/error.hpp"
#include "layout/reduce_gradients.hpp"
#include "parity/harness/assemble.hpp"
#include "parity/harness/ranks.hpp"

namespace cpize::parity {
namespace {

at::Tensor gradient_or_zero(const at::Tensor& leaf) {
  const at::Tensor& g = leaf.grad();
  return g.defined() ? g.detach().clone() : at::zeros_like(leaf.detach());
}

/// Backward from all outputs that depend on anything.
void backward(const std::map<std::string, at::Tensor>& outputs, const std::map<std::string, at::Tensor>& seeds) {
  std::vector<at::Tensor> roots, gradients;
  for (const auto& [name, output] : outputs)
    if (output.requires_grad()) {
      roots.push_back(output);
      gradients.push_back(seeds.at(name));
    }
  if (roots.empty()) throw ContractError("no output requires a gradient: there is no backward to compare");
  torch::autograd::backward(roots, gradients);
}

bool differentiable(const TensorInfo& info) { return info.kind == TensorInfo::Kind::activation; }

at::Tensor as_result(const at::Tensor& x) { return x.detach().to(at::kCPU).to(at::kDouble); }

/// Maps of a RankTensors by the prefix under which they travel.
template <class Rank, class F>
void for_each_map(Rank& rank, F f) {
  f("inputs/", rank.inputs);
  f("outputs/", rank.outputs);
  f("input_gradients/", rank.input_gradients);
  f("seeds/", rank.seeds);
  f("contributions/", rank.contributions);
  f("reduced/", rank.reduced);
}

RankReport report_of(const RankTensors& rank) {
  RankReport report;
  for_each_map(rank, [&](const std::string& prefix, const auto& map) {
    for (const auto& [name, tensor] : map) report.tensors[prefix + name] = tensor;
  });
  return report;
}

RankTensors tensors_of(const RankReport& report) {
  RankTensors rank;
  for_each_map(rank, [&](const std::string& prefix, auto& map) {
    for (const auto& [name, tensor] : report.tensors)
      if (name.starts_with(prefix)) map[name.substr(prefix.size())] = tensor;
  });
  return rank;
}

/// Puts the layouts of the outputs into `all`, under `mutex`: the same on every rank.
RankTensors run_rank(const BlockCase& block, const SerialRun& serial, const Setting& setting, const Tensors& inputs,
                     const Tensors& output_gradients, const Spoil& spoil, const MeshPtr& mesh, PortRun& all,
                     std::mutex& mutex) {
  PortedBlock port = block.make_port(serial.run.sizes);
  copy_parameters(serial.block.module.get(), port.module.get(), block.name(),
                  at::TensorOptions(setting.device()).dtype(setting.wide()));
  RankTensors mine;
  ShardedTensors sharded = shard_inputs(block, inputs, mesh, setting);
  for (const auto& [name, x] : sharded) mine.inputs[name] = x.local();
  const ShardedTensors outputs = [&] {
    const AutocastScope autocast(setting);
    return port.forward(sharded);
  }();
  for (const auto& info : block.outputs()) {
    const AnySharded& out = outputs[info.name];
    if (out.global() != output_gradients[info.name].sizes().vec())
      throw ContractError(block.name() + ": the port's output '" + info.name +
                          "' has another global shape than serial's");
    mine.outputs[info.name] = out.local();
    mine.seeds[info.name] =
        seed_for(out.spec(), out.global(), *mesh, output_gradients[info.name]).to(out.local().options());
    const std::lock_guard lock(mutex);
    all.output_specs[info.name] = out.spec();
    all.output_shapes[info.name] = out.global();
  }
  backward(mine.outputs, mine.seeds);
  for (auto& [name, out] : mine.outputs) out = out.detach();
  for (const auto& info : block.inputs())
    if (differentiable(info)) mine.input_gradients[info.name] = gradient_or_zero(mine.inputs[info.name]);
  for (auto& [name, x] : mine.inputs) x = x.detach();

  const auto parameters = parameters_of(port.module.get());
  std::vector<at::Tensor> leaves;
  for (const auto& [name, p] : parameters) {
    if (mesh->rank() == spoil.drop_rank && name == spoil.drop_parameter && p.grad().defined()) p.grad().zero_();
    mine.contributions[name] = gradient_or_zero(p);
    leaves.push_back(p);
  }
  if (!leaves.empty()) reduce_gradients(leaves, *mesh);
  for (const auto& [name, p] : parameters) mine.reduced[name] = gradient_or_zero(p);
  return mine;
}

/// Forward and backward of a serial block on `inputs`, as the setting gives them. `read` gets the names looked up.
Results serial_results(const BlockCase& block, const SerialBlock& built, const Tensors& inputs,
                       const std::function<Tensors(const Tensors& outputs)>& gradients_for, const Setting& setting,
                       std::set<std::string>* read) {
  Tensors leaves;
  for (const auto& info : block.inputs()) {
    at::Tensor x = as_given(info, inputs[info.name], setting).clone();
    if (differentiable(info)) x.requires_grad_(true);
    leaves.set(info.name, x);
  }
  const Tensors outputs = [&] {
    const AutocastScope autocast(setting);
    return built.forward(leaves);
  }();
  if (read) *read = leaves.read();
  const Tensors gradients = gradients_for(outputs);
  Results results;
  std::map<std::string, at::Tensor> roots, seeds;
  for (const auto& info : block.outputs()) {
    roots[info.name] = outputs[info.name];
    seeds[info.name] = gradients[info.name].to(outputs[info.name].options());
    results.outputs.set(info.name, as_result(outputs[info.name]));
  }
  backward(roots, seeds);
  for (const auto& info : block.inputs())
    if (differentiable(info)) results.input_gradients.set(info.name, as_result(gradient_or_zero(leaves[info.name])));
  for (const auto& [name, p] : parameters_of(built.module.get()))
    results.parameter_gradients.set(name, as_result(gradient_or_zero(p)));
  return results;
}

}  // namespace

ShardedTensors shard_inputs(const BlockCase& block, const Tensors& inputs, const MeshPtr& mesh,
                            const Setting& setting) {
  ShardedTensors sharded;
  for (const auto& info : block.inputs()) {
    const at::Tensor& full = inputs[info.name];
    at::Tensor local = as_given(info, cpize::detail::cut_shard(full, info.spec, *mesh), setting);
    if (differentiable(info)) local.requires_grad_(true);
    sharded.set(info.name, AnySharded(local, info.spec, info.family, full.sizes().vec(), mesh));
  }
  return sharded;
}

at::Tensor seed_for(const Spec& output, const Shape& global, const DeviceMesh& mesh, const at::Tensor& full_gradient) {
  const at::Tensor part = narrow_to(full_gradient, box_of(output, global, mesh.shape(), mesh.coordinates()));
  return is_owner(output, mesh.coordinates()) ? part.clone(at::MemoryFormat::Contiguous)
                                              : at::zeros_like(part, at::MemoryFormat::Contiguous);
}

SerialRun run_serial(const BlockCase& block, const Run& run, const Setting& setting) {
  SerialRun serial{run, {}, {}, {}, {}, setting, {}, {}, 0};
  const Setting truth(setting.mesh);
  torch::manual_seed(20240607);  // a block's constructor draws from torch's default generator
  serial.block = block.make_serial(run.sizes);
  if (serial.block.module) {
    serial.perturbed_constants = perturb(*serial.block.module, block.name(), block.perturbation_strength());
    round_parameters(*serial.block.module, setting.wide());
  }
  serial.inputs = make_inputs(block, run, Padding::random, setting);
  serial.results = serial_results(
      block, serial.block, serial.inputs,
      [&](const Tensors& outputs) {
        serial.output_gradients = make_output_gradients(block, run, outputs, serial.inputs, false, setting);
        return serial.output_gradients;
      },
      truth, &serial.inputs_read);
  if (!setting.low_precision()) return serial;

  SerialBlock own = block.make_serial(run.sizes);
  copy_parameters(serial.block.module.get(), own.module.get(), block.name(),
                  at::TensorOptions(setting.device()).dtype(setting.wide()));
  serial.own = serial_results(
      block, own, serial.inputs, [&](const Tensors&) { return serial.output_gradients; }, setting, nullptr);
  return serial;
}

void assemble_results(const BlockCase& block, const Tensors& inputs, PortRun& run) {
  const auto locals = [&](auto member, const std::string& name) {
    std::vector<at::Tensor> list;
    for (const auto& rank : run.ranks) list.push_back((rank.*member).at(name).to(at::kDouble));
    return list;
  };
  for (const auto& info : block.outputs()) {
    const Spec& spec = run.output_specs.at(info.name);
    run.results.outputs.set(
        info.name, assemble(locals(&RankTensors::outputs, info.name), spec, run.output_shapes.at(info.name), run.mesh));
  }
  for (const auto& info : block.inputs())
    if (differentiable(info))
      run.results.input_gradients.set(info.name, assemble(locals(&RankTensors::input_gradients, info.name),
                                                          dual(info.spec), inputs[info.name].sizes().vec(), run.mesh));
  for (const auto& [name, gradient] : run.ranks[0].reduced)
    run.results.parameter_gradients.set(name, gradient.to(at::kDouble));
}

PortRun run_port(const BlockCase& block, const SerialRun& serial, const Setting& setting, const Tensors& inputs,
                 const Tensors& output_gradients, const Spoil& spoil) {
  PortRun result;
  result.mesh = setting.mesh;
  Tensors given = inputs;
  if (spoil.ignore_mask)
    for (const auto& info : block.inputs())
      if (info.kind == TensorInfo::Kind::mask) given.set(info.name, at::ones_like(inputs[info.name]));
  std::mutex mutex;
  for (const auto& report : on_every_rank(setting, [&](const MeshPtr& mesh) {
         return report_of(run_rank(block, serial, setting, given, output_gradients, spoil, mesh, result, mutex));
       }))
    result.ranks.push_back(tensors_of(report));
  assemble_results(block, given, result);
  return result;
}

}  // namespace cpize::parity
