#include "parity/harness/sabotage.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "parity/harness/ranks.hpp"

namespace cpize::parity {
namespace {

std::string caught_by(const std::vector<Difference>& differences, const std::string& what) {
  return caught_or_missed(first_failure(differences) != nullptr, what);
}

struct Target {
  std::string parameter;
  int rank = 0;
};

/// The contribution whose loss is hardest to see. In fp32 and bf16 only of those that stand out of the rounding at all:
/// a sum that nearly cancels is noise in bf16, for serial as for the port.
std::optional<Target> hardest_contribution(const BlockCase& block, const SerialRun& serial, const PortRun& honest,
                                           const std::vector<Difference>& differences) {
  std::optional<Target> hardest;
  double least = std::numeric_limits<double>::infinity();
  const auto& zeros = block.zero_gradients();
  for (const auto& [name, gradient] : honest.results.parameter_gradients) {
    if (std::ranges::find(zeros, name) != zeros.end()) continue;
    Target target{name, 0};
    double most = -1;
    for (int rank = 0; rank < honest.mesh.size(); ++rank)
      if (const double size = largest(honest.ranks[rank].contributions.at(name)); size > most) {
        most = size;
        target.rank = rank;
      }
    const double tolerance = std::ranges::find(differences, "gradient " + name, &Difference::name)->tolerance;
    if (serial.setting.low_precision() && most <= 2 * tolerance) continue;
    if (most / tolerance < least) {
      least = most / tolerance;
      hardest = target;
    }
  }
  return hardest;
}

std::string drop_input_gradient(const BlockCase& block, const SerialRun& serial, PortRun run) {
  for (const auto& [name, full] : run.results.input_gradients) {
    int rank = 0;
    for (int r = 1; r < run.mesh.size(); ++r)
      if (largest(run.ranks[r].input_gradients[name]) > largest(run.ranks[rank].input_gradients[name])) rank = r;
    run.ranks[rank].input_gradients[name] = at::zeros_like(run.ranks[rank].input_gradients[name]);
    assemble_results(block, serial.inputs, run);
    return caught_by(compare(block, serial, run.results),
                     "input gradient " + name + " without the share of rank " + std::to_string(rank));
  }
  return "missed: there is no gradient to drop";
}

/// Two ranks whose shards of an output have equal shapes and lie at different places.
std::optional<std::pair<int, int>> two_shards(const PortRun& run, const std::string& name) {
  const Spec& spec = run.output_specs.at(name);
  const Shape& global = run.output_shapes.at(name);
  for (int a = 0; a < run.mesh.size(); ++a)
    for (int b = a + 1; b < run.mesh.size(); ++b) {
      const Box x = box_of(spec, global, run.mesh, run.mesh.coordinates(a));
      const Box y = box_of(spec, global, run.mesh, run.mesh.coordinates(b));
      const bool both_count = is_owner(spec, run.mesh.coordinates(a)) && is_owner(spec, run.mesh.coordinates(b));
      if (both_count && x.size == y.size && x.low != y.low && x.numel() > 0) return std::pair{a, b};
    }
  return std::nullopt;
}

std::string first_change(const BlockCase& block, const std::string& kind, const std::vector<TensorInfo>& infos,
                         const Tensors& inputs, const Tensors& clean, const Tensors& poisoned) {
  for (const auto& info : infos) {
    if (!clean.has(info.name)) continue;
    const at::Tensor &a = clean[info.name], &b = poisoned[info.name];
    const at::Tensor valid = valid_positions(block, info, inputs, a.sizes().vec());
    if (!a.eq(b).logical_or(valid.logical_not()).all().item<bool>())  // NaN equals nothing
      return kind + info.name + " at valid positions";
  }
  return "";
}

}  // namespace

std::string drop_gradient(const BlockCase& block, const SerialRun& serial, const PortRun& honest) {
  if (honest.results.parameter_gradients.size() == 0) return drop_input_gradient(block, serial, honest);
  auto target = hardest_contribution(block, serial, honest, compare(block, serial, honest.results));
  if (!target) return "missed: no rank's share of any gradient stands out";
  // Every process must spoil the same one, though tolerances may differ in their last bits between GPUs.
  const std::string choice = agreed_text(serial.setting, std::to_string(target->rank) + " " + target->parameter);
  target->rank = std::stoi(choice);
  target->parameter = choice.substr(choice.find(' ') + 1);
  const Spoil spoil{target->parameter, target->rank, false};
  const PortRun spoiled = run_port(block, serial, serial.setting, serial.inputs, serial.output_gradients, spoil);
  return caught_by(compare(block, serial, spoiled.results),
                   "gradient " + target->parameter + " without the share of rank " + std::to_string(target->rank));
}

std::string swap_shards(const BlockCase& block, const SerialRun& serial, const PortRun& honest) {
  for (const auto& info : block.outputs()) {
    PortRun spoiled = honest;
    std::string what;
    if (const auto pair = two_shards(honest, info.name)) {
      std::swap(spoiled.ranks[pair->first].outputs[info.name], spoiled.ranks[pair->second].outputs[info.name]);
      assemble_results(block, serial.inputs, spoiled);
      what = "shards of ranks " + std::to_string(pair->first) + " and " + std::to_string(pair->second);
    } else {
      const at::Tensor& out = honest.results.outputs[info.name];
      std::int64_t dim = 0;
      while (dim + 1 < out.dim() && (dim == 0 || out.size(dim) < 2)) ++dim;
      spoiled.results.outputs.set(info.name, out.roll(out.size(dim) / 2, dim));
      what = "parts along dimension " + std::to_string(dim);
    }
    const auto verdict = caught_by(compare(block, serial, spoiled.results), "output " + info.name + ", " + what);
    if (verdict != "caught") return verdict;
  }
  return "caught";
}

std::string ignore_mask(const BlockCase& block, const SerialRun& serial) {
  std::string masks;
  bool read = false;
  for (const auto& info : block.inputs())
    if (info.kind == TensorInfo::Kind::mask) {
      masks += " " + info.name;
      read = read || serial.inputs_read.contains(info.name);
    }
  if (masks.empty()) return not_applicable("the case has no mask");
  if (!read) return not_applicable("the serial block reads no mask");
  Spoil spoil;
  spoil.ignore_mask = true;
  const PortRun spoiled = run_port(block, serial, serial.setting, serial.inputs, serial.output_gradients, spoil);
  return caught_by(compare(block, serial, spoiled.results), "ones in place of" + masks);
}

std::string poison_changes(const BlockCase& block, const SerialRun& serial) {
  const Setting& setting = serial.setting;
  const Tensors clean_inputs = make_inputs(block, serial.run, Padding::zero, setting);
  const Tensors poisoned_inputs = make_inputs(block, serial.run, Padding::poison, setting);
  bool poisoned_any = false;
  for (const auto& [name, x] : clean_inputs) poisoned_any = poisoned_any || !x.equal(poisoned_inputs[name]);
  if (!poisoned_any) return "no input has a masked position that could be poisoned";

  const Tensors gradients = make_output_gradients(block, serial.run, serial.results.outputs, serial.inputs,
                                                  /*zero_where_masked=*/true, setting);
  const PortRun clean = run_port(block, serial, setting, clean_inputs, gradients);
  const PortRun poisoned = run_port(block, serial, setting, poisoned_inputs, gradients);
  std::string change =
      first_change(block, "output ", block.outputs(), clean_inputs, clean.results.outputs, poisoned.results.outputs);
  if (change.empty())
    change = first_change(block, "input gradient ", block.inputs(), clean_inputs, clean.results.input_gradients,
                          poisoned.results.input_gradients);
  for (const auto& [name, g] : clean.results.parameter_gradients)
    if (change.empty() && !g.equal(poisoned.results.parameter_gradients[name])) change = "gradient " + name;
  return change.empty() ? "" : change + " changed with the padding, run " + serial.run.name;
}

}  // namespace cpize::parity
