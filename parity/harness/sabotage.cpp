#include "parity/harness/sabotage.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
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

/// Two ranks whose shards have equal shapes, lie at different places, and differ as `differ` says.
std::optional<std::pair<int, int>> two_shards(
    const Spec& spec, const Shape& global, const MeshShape& mesh,
    const std::function<bool(int, int)>& differ = [](int, int) { return true; }) {
  for (int a = 0; a < mesh.size(); ++a)
    for (int b = a + 1; b < mesh.size(); ++b) {
      const Box x = box_of(spec, global, mesh, mesh.coordinates(a));
      const Box y = box_of(spec, global, mesh, mesh.coordinates(b));
      const bool both_count = is_owner(spec, mesh.coordinates(a)) && is_owner(spec, mesh.coordinates(b));
      if (both_count && x.size == y.size && x.low != y.low && x.numel() > 0 && differ(a, b)) return std::pair{a, b};
    }
  return std::nullopt;
}

/// A dimension behind the batch that has two parts to exchange; 0 if there is none.
std::int64_t dimension_to_roll(const at::Tensor& x) {
  for (std::int64_t dim = 1; dim < x.dim(); ++dim)
    if (x.size(dim) > 1) return dim;
  return 0;
}

/// One number a sample, the same on every rank, has no two parts: there the shards of an input's gradient are swapped.
std::string swap_input_gradients(const BlockCase& block, const SerialRun& serial, const PortRun& honest) {
  for (const auto& info : block.inputs()) {
    if (!honest.results.input_gradients.has(info.name)) continue;
    PortRun spoiled = honest;
    const at::Tensor& full = honest.results.input_gradients[info.name];
    const auto differ = [&](int a, int b) {  // not so where both are padding
      return !honest.ranks[a].input_gradients.at(info.name).equal(honest.ranks[b].input_gradients.at(info.name));
    };
    if (const auto pair = two_shards(info.spec, full.sizes().vec(), honest.mesh, differ)) {
      std::swap(spoiled.ranks[pair->first].input_gradients[info.name],
                spoiled.ranks[pair->second].input_gradients[info.name]);
      assemble_results(block, serial.inputs, spoiled);
    } else if (const std::int64_t dim = dimension_to_roll(full); dim > 0) {
      spoiled.results.input_gradients.set(info.name, full.roll(full.size(dim) / 2, dim));
    }
    return caught_by(compare(block, serial, spoiled.results), "shards of input gradient " + info.name);
  }
  return "missed: neither outputs nor input gradients have two parts";
}

std::string first_change(const BlockCase& block, const std::string& kind, const std::vector<TensorInfo>& infos,
                         const Tensors& inputs, const Tensors& clean, const Tensors& poisoned) {
  for (const auto& info : infos) {
    if (!clean.has(info.name)) continue;
    const at::Tensor &a = clean[info.name], &b = poisoned[info.name];
    const at::Tensor valid = valid_positions(block, info, inputs, a.sizes().vec());
    const at::Tensor changed = a.ne(b).logical_and(valid);  // NaN equals nothing
    if (changed.any().item<bool>()) {
      const at::Tensor difference = (a - b).abs().masked_select(changed);
      return kind + info.name + " at " + std::to_string(difference.numel()) + " of " +
             std::to_string(valid.expand_as(a).sum().item<std::int64_t>()) + " valid positions, by up to " +
             number(difference.max().item<double>()) + ", largest value " +
             number(a.masked_select(valid).abs().max().item<double>());
    }
  }
  return "";
}

}  // namespace

std::string drop_gradient(const BlockCase& block, const SerialRun& serial, const PortRun& honest) {
  const auto& zeros = block.zero_gradients();
  if (std::ranges::all_of(honest.results.parameter_gradients, [&](const auto& named) {  // none, or all of them frozen
        return std::ranges::find(zeros, named.first) != zeros.end();
      }))
    return drop_input_gradient(block, serial, honest);
  const auto hardest = hardest_contribution(block, serial, honest, compare(block, serial, honest.results));
  // Every process must spoil the same one, though tolerances may differ in their last bits between GPUs.
  const std::string choice =
      agreed_text(serial.setting, hardest ? std::to_string(hardest->rank) + " " + hardest->parameter : "");
  if (choice.empty()) return "missed: no rank's share of any gradient stands out";
  const Spoil spoil{choice.substr(choice.find(' ') + 1), std::stoi(choice), false};
  const PortRun spoiled = run_port(block, serial, serial.setting, serial.inputs, serial.output_gradients, spoil);
  return caught_by(
      compare(block, serial, spoiled.results),
      "gradient " + spoil.drop_parameter + " without the share of rank " + std::to_string(spoil.drop_rank));
}

std::string swap_shards(const BlockCase& block, const SerialRun& serial, const PortRun& honest) {
  for (const auto& info : block.outputs()) {
    PortRun spoiled = honest;
    std::string what;
    if (const auto pair =
            two_shards(honest.output_specs.at(info.name), honest.output_shapes.at(info.name), honest.mesh)) {
      std::swap(spoiled.ranks[pair->first].outputs[info.name], spoiled.ranks[pair->second].outputs[info.name]);
      assemble_results(block, serial.inputs, spoiled);
      what = "shards of ranks " + std::to_string(pair->first) + " and " + std::to_string(pair->second);
    } else {
      const at::Tensor& out = honest.results.outputs[info.name];
      const std::int64_t dim = dimension_to_roll(out);
      if (dim == 0) return swap_input_gradients(block, serial, honest);
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
    if (change.empty() && !g.equal(poisoned.results.parameter_gradients[name]))
      change = "gradient " + name + " by up to " +
               number((g - poisoned.results.parameter_gradients[name]).abs().max().item<double>());
  if (change.empty()) return "";
  const PortRun again = run_port(block, serial, setting, clean_inputs, gradients);
  const auto& once = clean.results;
  const bool repeats =
      first_change(block, "", block.inputs(), clean_inputs, once.input_gradients, again.results.input_gradients)
          .empty() &&
      std::ranges::all_of(once.parameter_gradients, [&](const auto& named) {
        return named.second.equal(again.results.parameter_gradients[named.first]);
      });
  return change + " changed with the padding" + (repeats ? "" : ", and from run to run without it") + ", run " +
         serial.run.name;
}

}  // namespace cpize::parity
