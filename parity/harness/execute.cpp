#include "parity/harness/execute.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/utils.h>

#include <mutex>

#include "comm/run_ranks.hpp"
#include "error/error.hpp"
#include "layout/reduce_gradients.hpp"
#include "parity/harness/assemble.hpp"

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

void run_rank(const BlockCase& block, const SerialRun& serial, const Tensors& inputs, const Tensors& output_gradients,
              const Spoil& spoil, const MeshPtr& mesh, PortRun& all, std::mutex& mutex) {
  PortedBlock port = block.make_port(serial.run.sizes);
  copy_parameters(serial.block.module.get(), port.module.get(), block.name());
  RankTensors& mine = all.ranks[mesh->rank()];

  ShardedTensors sharded = shard_inputs(block, inputs, mesh);
  for (const auto& [name, x] : sharded) mine.inputs[name] = x.local();
  const ShardedTensors outputs = port.forward(sharded);
  for (const auto& info : block.outputs()) {
    const AnySharded& out = outputs[info.name];
    if (out.global() != output_gradients[info.name].sizes().vec())
      throw ContractError(block.name() + ": the port's output '" + info.name +
                          "' has another global shape than serial's");
    mine.outputs[info.name] = out.local();
    mine.seeds[info.name] = seed_for(out.spec(), out.global(), *mesh, output_gradients[info.name]);
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
}

}  // namespace

ShardedTensors shard_inputs(const BlockCase& block, const Tensors& inputs, const MeshPtr& mesh) {
  ShardedTensors sharded;
  for (const auto& info : block.inputs()) {
    const at::Tensor& full = inputs[info.name];
    at::Tensor local = cpize::detail::cut_shard(full, info.spec, *mesh);
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

SerialRun run_serial(const BlockCase& block, const Run& run) {
  SerialRun serial;
  serial.run = run;
  torch::manual_seed(20240607);  // a block's constructor draws from torch's default generator
  serial.block = block.make_serial(run.sizes);
  if (serial.block.module) serial.perturbed_constants = perturb(*serial.block.module, block.name());

  serial.inputs = make_inputs(block, run, Padding::random);
  Tensors leaves;
  for (const auto& info : block.inputs()) {
    at::Tensor x = serial.inputs[info.name].clone();
    if (differentiable(info)) x.requires_grad_(true);
    leaves.set(info.name, x);
  }
  const Tensors outputs = serial.block.forward(leaves);
  serial.inputs_read = leaves.read();
  serial.output_gradients = make_output_gradients(block, run, outputs, serial.inputs, false);

  std::map<std::string, at::Tensor> roots, seeds;
  for (const auto& info : block.outputs()) {
    roots[info.name] = outputs[info.name];
    seeds[info.name] = serial.output_gradients[info.name];
    serial.results.outputs.set(info.name, outputs[info.name].detach());
  }
  backward(roots, seeds);
  for (const auto& info : block.inputs())
    if (differentiable(info)) serial.results.input_gradients.set(info.name, gradient_or_zero(leaves[info.name]));
  for (const auto& [name, p] : parameters_of(serial.block.module.get()))
    serial.results.parameter_gradients.set(name, gradient_or_zero(p));
  return serial;
}

void assemble_results(const BlockCase& block, const Tensors& inputs, PortRun& run) {
  const auto locals = [&](auto member, const std::string& name) {
    std::vector<at::Tensor> list;
    for (const auto& rank : run.ranks) list.push_back((rank.*member).at(name));
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
  for (const auto& [name, gradient] : run.ranks[0].reduced) run.results.parameter_gradients.set(name, gradient);
}

PortRun run_port(const BlockCase& block, const SerialRun& serial, const MeshShape& mesh, const Tensors& inputs,
                 const Tensors& output_gradients, const Spoil& spoil) {
  PortRun result;
  result.mesh = mesh;
  result.ranks.resize(mesh.size());
  Tensors given = inputs;
  if (spoil.ignore_mask)
    for (const auto& info : block.inputs())
      if (info.kind == TensorInfo::Kind::mask) given.set(info.name, at::ones_like(inputs[info.name]));
  std::mutex mutex;
  comm::run_ranks(mesh, [&](const MeshPtr& rank_mesh) {
    run_rank(block, serial, given, output_gradients, spoil, rank_mesh, result, mutex);
  });
  assemble_results(block, given, result);
  return result;
}

}  // namespace cpize::parity
