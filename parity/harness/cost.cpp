#include "parity/harness/cost.hpp"

#include <ATen/ATen.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>

#include "parity/harness/execute.hpp"
#include "parity/harness/peak_bytes.hpp"
#include "parity/harness/ranks.hpp"

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

/// What one forward and one backward hold. `forward` gives the outputs; `gradients` must exist before. On a GPU a first
/// step lets libraries take their work spaces.
template <class Forward>
Costs peaks(PeakBytes& bytes_held, bool warm_up, const Forward& forward,
            const std::function<std::vector<at::Tensor>()>& gradients) {
  Costs costs;
  if (warm_up) {
    const std::vector<at::Tensor> outputs = forward();
    torch::autograd::backward(outputs, gradients());
  }
  {
    at::NoGradGuard no_grad;
    bytes_held.reset();
    const auto outputs = forward();
    costs["peak_bytes.forward"] = static_cast<double>(bytes_held.peak());
  }
  const auto seeds = gradients();
  bytes_held.reset();
  std::vector<at::Tensor> outputs = forward();
  costs["saved_bytes"] = static_cast<double>(bytes_held.current()) - bytes(outputs);
  torch::autograd::backward(outputs, seeds);
  costs["peak_bytes.step"] = static_cast<double>(bytes_held.peak());
  return costs;
}

/// Tokens at which a shard of `setting` has no fewer bytes than one of 4 n tokens on two ranks in two bytes each: the
/// constants of a GPU (an allocator's granularity, work spaces of libraries, smallest panels) are small beside it.
std::int64_t tokens_on_a_gpu(std::int64_t n, const Setting& setting) {
  const double ranks_a_byte = setting.mesh.cp_size() / static_cast<double>(c10::elementSize(setting.dtype));
  return n * std::max<std::int64_t>(4, std::llround(std::ceil(4 * std::sqrt(ranks_a_byte))));
}

Run cost_run(const BlockCase& block, const Setting& setting) {
  Run run{"cost", block.sizes(), MaskKind::random, 0};
  for (const auto& [letter, value] : block.cost_sizes()) run.sizes.set(letter, value);
  run.sizes.set("B", setting.mesh.extent(Axis::dp));
  if (setting.device_type != at::kCPU) run.sizes.set("N", tokens_on_a_gpu(run.sizes["N"], setting));
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

/// `x` as a root of backward needs its gradient.
at::Tensor as_seed(const at::Tensor& gradient, const Setting& setting) {
  return gradient.to(setting.device(), setting.dtype);
}

void clear_gradients(const torch::nn::Module* module) {
  for (const auto& [name, p] : parameters_of(module)) {
    at::Tensor parameter = p;
    parameter.mutable_grad().reset();
  }
}

Costs serial_costs(const BlockCase& block, const SerialBlock& truth, const Run& run, const Setting& setting,
                   const Tensors& inputs, const Tensors& gradients) {
  SerialBlock built = block.make_serial(run.sizes);
  copy_parameters(truth.module.get(), built.module.get(), block.name(),
                  at::TensorOptions(setting.device()).dtype(setting.wide()));
  Tensors leaves;
  for (const auto& info : block.inputs()) {
    at::Tensor x = as_given(info, inputs[info.name], setting).clone();
    if (info.kind == TensorInfo::Kind::activation) x.requires_grad_(true);
    leaves.set(info.name, x);
  }
  PeakBytes held(setting.device());
  return peaks(
      held, setting.device_type != at::kCPU,
      [&] {
        const AutocastScope autocast(setting);
        const Tensors out = built.forward(leaves);
        std::vector<at::Tensor> outputs;
        for (const auto& info : block.outputs()) outputs.push_back(out[info.name]);
        return outputs;
      },
      [&] {
        for (const auto& [name, leaf] : leaves) at::Tensor(leaf).mutable_grad().reset();
        clear_gradients(built.module.get());
        std::vector<at::Tensor> seeds;
        for (const auto& info : block.outputs()) seeds.push_back(as_seed(gradients[info.name], setting));
        return seeds;
      });
}

Costs rank_costs(const BlockCase& block, const SerialBlock& serial, const Run& run, const Setting& setting,
                 const Tensors& inputs, const Tensors& gradients, const MeshPtr& mesh) {
  PortedBlock port = block.make_port(run.sizes);
  copy_parameters(serial.module.get(), port.module.get(), block.name(),
                  at::TensorOptions(setting.device()).dtype(setting.wide()));
  const ShardedTensors sharded = shard_inputs(block, inputs, mesh, setting);
  PeakBytes held(setting.device());
  std::map<std::string, std::pair<Spec, Shape>> layouts;  // of the outputs: seeds are cut after the first forward
  double before = 0, sent_forward = 0;
  Costs costs = peaks(
      held, setting.device_type != at::kCPU,
      [&] {
        const AutocastScope autocast(setting);
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
        for (const auto& [name, x] : sharded) at::Tensor(x.local()).mutable_grad().reset();
        clear_gradients(port.module.get());
        std::vector<at::Tensor> seeds;
        for (const auto& info : block.outputs()) {
          const auto& [spec, global] = layouts.at(info.name);
          seeds.push_back(as_seed(seed_for(spec, global, *mesh, gradients[info.name]), setting));
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

void measure_cost(const BlockCase& block, const Setting& setting, Cell& cell) {
  if (block.cost_sizes().size() == 0) return;
  const Run run = cost_run(block, setting);
  SerialBlock serial = block.make_serial(run.sizes);
  if (serial.module) perturb(*serial.module, block.name(), block.perturbation_strength());
  const Tensors inputs = make_inputs(block, run, Padding::random, setting);
  const Tensors gradients = gradients_of(block, run);

  Costs busiest;
  for (const auto& rank : on_every_rank(setting, [&](const MeshPtr& mesh) {
         return RankReport{{}, rank_costs(block, serial, run, setting, inputs, gradients, mesh)};
       }))
    for (const auto& [name, value] : rank.numbers) keep_most(busiest, name, value);
  CostPoint point;
  point.sizes = run.sizes;
  point.mesh = setting.mesh;
  point.element_bytes = static_cast<double>(c10::elementSize(setting.dtype));
  for (const auto& name : cost_counters()) {
    const auto bound = block.bounds().find(name);
    cell.counter(name, busiest[name],
                 bound == block.bounds().end() ? std::nullopt : std::optional(bound->second(point)));
  }
  if (!reports_here()) return;
  if (setting.device_type != at::kCPU) c10::getDeviceAllocator(setting.device_type)->emptyCache();
  try {
    for (const auto& [name, value] : serial_costs(block, serial, run, setting, inputs, gradients))
      cell.counter("serial." + name, value);
  } catch (const c10::OutOfMemoryError&) {  // what several GPUs hold may be too large for one
    cell.fact("serial_peaks", "n/a: out of memory");
  }
}

}  // namespace cpize::parity
