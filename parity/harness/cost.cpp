#include "parity/harness/cost.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <mutex>

#include "comm/memory_meter.hpp"
#include "comm/run_ranks.hpp"
#include "parity/harness/execute.hpp"

namespace cpize::parity {
namespace {

using Costs = std::map<std::string, double>;

void keep_most(Costs& all, const std::string& name, double value) {
  double& most = all[name];
  most = std::max(most, value);
}

double bytes(const std::vector<at::Tensor>& tensors) {
  double sum = 0;
  for (const auto& t : tensors) sum += static_cast<double>(t.nbytes());
  return sum;
}

/// What one forward and one backward hold. `forward` gives the outputs; `gradients` must exist before.
template <class Forward>
Costs peaks(comm::MemoryMeter& meter, const Forward& forward,
            const std::function<std::vector<at::Tensor>()>& gradients) {
  Costs costs;
  {
    at::NoGradGuard no_grad;
    meter.reset();
    const auto outputs = forward();
    costs["peak_bytes.forward"] = static_cast<double>(meter.peak_bytes());
  }
  const auto seeds = gradients();
  meter.reset();
  std::vector<at::Tensor> outputs = forward();
  costs["saved_bytes"] = static_cast<double>(meter.current_bytes()) - bytes(outputs);
  torch::autograd::backward(outputs, seeds);
  costs["peak_bytes.step"] = static_cast<double>(meter.peak_bytes());
  return costs;
}

Run cost_run(const BlockCase& block, const MeshShape& mesh) {
  Run run{"cost", block.sizes(), MaskKind::random, 0};
  for (const auto& [letter, value] : block.cost_sizes()) run.sizes.set(letter, value);
  run.sizes.set("B", mesh.extent(Axis::dp));
  run.valid_tokens = run.sizes["N"];
  return run;
}

Tensors gradients_of(const BlockCase& block, const Run& run) {
  Tensors gradients;
  for (const auto& info : block.outputs()) {
    Shape shape;
    for (const auto& dim : info.dims) shape.push_back(size_of(dim, run.sizes));
    at::Generator g = generator_for("cost output gradient " + info.name);
    gradients.set(info.name, at::randn(shape, g, at::kDouble));
  }
  return gradients;
}

Costs serial_costs(const BlockCase& block, const SerialBlock& built, const Tensors& inputs, const Tensors& gradients) {
  Tensors leaves;
  for (const auto& info : block.inputs()) {
    at::Tensor x = inputs[info.name].clone();
    if (info.kind == TensorInfo::Kind::activation) x.requires_grad_(true);
    leaves.set(info.name, x);
  }
  comm::MemoryMeter meter;
  comm::MemoryMeter::Scope metered(meter);
  return peaks(
      meter,
      [&] {
        const Tensors out = built.forward(leaves);
        std::vector<at::Tensor> outputs;
        for (const auto& info : block.outputs()) outputs.push_back(out[info.name]);
        return outputs;
      },
      [&] {
        std::vector<at::Tensor> seeds;
        for (const auto& info : block.outputs()) seeds.push_back(gradients[info.name]);
        return seeds;
      });
}

Costs rank_costs(const BlockCase& block, const SerialBlock& serial, const Run& run, const Tensors& inputs,
                 const Tensors& gradients, const MeshPtr& mesh) {
  PortedBlock port = block.make_port(run.sizes);
  copy_parameters(serial.module.get(), port.module.get(), block.name());
  const ShardedTensors sharded = shard_inputs(block, inputs, mesh);
  comm::MemoryMeter meter;
  comm::MemoryMeter::Scope metered(meter);
  std::map<std::string, std::pair<Spec, Shape>> layouts;  // of the outputs: seeds are cut after the first forward
  double before = 0, sent_forward = 0;
  Costs costs = peaks(
      meter,
      [&] {
        const double start = static_cast<double>(mesh->traffic().sent_bytes);
        const ShardedTensors out = port.forward(sharded);
        std::vector<at::Tensor> outputs;
        for (const auto& info : block.outputs()) {
          const AnySharded& o = out[info.name];
          outputs.push_back(o.local());
          layouts.insert_or_assign(info.name, std::pair{o.spec(), o.global()});
        }
        before = static_cast<double>(mesh->traffic().sent_bytes);
        sent_forward = std::max(sent_forward, before - start);
        return outputs;
      },
      [&] {
        std::vector<at::Tensor> seeds;
        for (const auto& info : block.outputs()) {
          const auto& [spec, global] = layouts.at(info.name);
          seeds.push_back(seed_for(spec, global, *mesh, gradients[info.name]));
        }
        return seeds;
      });
  costs["sent_bytes.forward"] = sent_forward;
  costs["sent_bytes.backward"] = static_cast<double>(mesh->traffic().sent_bytes) - before;
  return costs;
}

}  // namespace

const std::vector<std::string>& cost_counters() {
  static const std::vector<std::string> names{"sent_bytes.forward", "sent_bytes.backward", "peak_bytes.forward",
                                              "peak_bytes.step", "saved_bytes"};
  return names;
}

void measure_cost(const BlockCase& block, const MeshShape& mesh, Cell& cell) {
  if (block.cost_sizes().size() == 0) return;
  const Run run = cost_run(block, mesh);
  SerialBlock serial = block.make_serial(run.sizes);
  if (serial.module) perturb(*serial.module, block.name());
  const Tensors inputs = make_inputs(block, run, Padding::random);
  const Tensors gradients = gradients_of(block, run);

  Costs busiest;
  std::mutex mutex;
  comm::run_ranks(mesh, [&](const MeshPtr& rank_mesh) {
    const Costs mine = rank_costs(block, serial, run, inputs, gradients, rank_mesh);
    const std::lock_guard lock(mutex);
    for (const auto& [name, value] : mine) keep_most(busiest, name, value);
  });
  CostPoint point;
  point.sizes = run.sizes;
  point.mesh = mesh;
  for (const auto& name : cost_counters()) {
    const auto bound = block.bounds().find(name);
    cell.counter(name, busiest[name],
                 bound == block.bounds().end() ? std::nullopt : std::optional(bound->second(point)));
  }
  for (const auto& [name, value] : serial_costs(block, serial, inputs, gradients))
    cell.counter("serial." + name, value);
}

}  // namespace cpize::parity
