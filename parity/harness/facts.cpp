#include "parity/harness/facts.hpp"

#include <ATen/ATen.h>

#include <algorithm>

#include "parity/harness/bits.hpp"

namespace cpize::parity {
namespace {

/// The coordinates of the owner of `at`'s replica set.
Coordinates owner_of(const Spec& spec, Coordinates at) {
  for (Axis a : all_axes)
    if (spec.replicated(a)) at.at[index_of(a)] = 0;
  return at;
}

}  // namespace

void Facts::see(const SerialRun& serial, const PortRun& port, const std::vector<Difference>& differences) {
  ++runs_;
  see_shards(port, serial);
  see_masks(port, serial);
  see_replicas(port, serial.run.name);
  see_gradients(serial, port, differences);
  see_seeds(serial, port);

  const auto constant = constant_parameters(serial.block.module.get());
  if (!constant.empty()) constant_parameters_ = constant.front();
  perturbed_constants_ = std::max(perturbed_constants_, serial.perturbed_constants);
  const auto parameters = parameters_of(serial.block.module.get());
  parameters_ = static_cast<int>(parameters.size());
  for (const auto& [name, p] : parameters)
    if (std::ranges::find(differences, "gradient " + name, &Difference::name) == differences.end())
      not_compared_ = name;
}

void Facts::see_shards(const PortRun& port, const SerialRun& serial) {
  for (const auto& info : block_.inputs()) {
    const at::Tensor& full = serial.inputs[info.name];
    for (int d = 0; d < info.spec.rank; ++d)
      for (int i = 0; i < info.spec.cut[d].axes; ++i) {
        const Axis axis = info.spec.cut[d].axis[i];
        if (mesh_.extent(axis) == 1) continue;
        std::int64_t least = full.size(d), most = 0;
        for (const auto& rank : port.ranks) {
          least = std::min(least, rank.inputs.at(info.name).size(d));
          most = std::max(most, rank.inputs.at(info.name).size(d));
        }
        cut_[axis] = cut_[axis] || most < full.size(d);
        uneven_[axis] = uneven_[axis] || least != most;
      }
  }
}

void Facts::see_masks(const PortRun& port, const SerialRun& serial) {
  for (const auto& info : block_.inputs()) {
    if (info.kind != TensorInfo::Kind::mask) continue;
    has_masks_ = true;
    const at::Tensor& mask = serial.inputs[info.name];
    const at::Tensor valid = mask.ne(0).flatten(1).sum(1);
    const std::int64_t each = mask.numel() / mask.size(0);
    none_mask_ = none_mask_ || valid.eq(0).all().item<bool>();
    one_mask_ = one_mask_ || valid.eq(1).all().item<bool>();
    all_mask_ = all_mask_ || valid.eq(each).all().item<bool>();
    mixed_mask_ = mixed_mask_ || valid.gt(1).logical_and(valid.lt(each)).any().item<bool>();
    bool padding_only = false, some_valid = mesh_.cp_size() == 1;  // its shard is the whole, no other can be valid
    for (const auto& rank : port.ranks) {
      const at::Tensor& local = rank.inputs.at(info.name);
      if (local.numel() == 0) continue;
      const bool valid_here = local.ne(0).any().item<bool>();
      padding_only = padding_only || !valid_here;
      some_valid = some_valid || valid_here;
    }
    padding_only_shard_ = padding_only_shard_ || (padding_only && some_valid);
  }
}

void Facts::see_replicas(const PortRun& port, const std::string& run) {
  for (int rank = 0; rank < mesh_.size(); ++rank) {
    for (const auto& [name, output] : port.ranks[rank].outputs) {
      const int owner = mesh_.rank(owner_of(port.output_specs.at(name), mesh_.coordinates(rank)));
      if (!same_bits(output, port.ranks[owner].outputs.at(name)))
        replicas_differ_ =
            "output " + name + " of ranks " + std::to_string(owner) + " and " + std::to_string(rank) + ", run " + run;
    }
    for (const auto& [name, gradient] : port.ranks[rank].reduced)
      if (!same_bits(gradient, port.ranks[0].reduced.at(name)))
        replicas_differ_ = "gradient " + name + " of ranks 0 and " + std::to_string(rank) + ", run " + run;
  }
}

void Facts::see_gradients(const SerialRun& serial, const PortRun& port, const std::vector<Difference>& differences) {
  const auto finite = [&](const std::string& kind, const Tensors& tensors) {
    for (const auto& [name, t] : tensors)
      if (!t.isfinite().all().item<bool>()) not_finite_ = kind + name + ", run " + serial.run.name;
  };
  finite("output ", port.results.outputs);
  finite("input gradient ", port.results.input_gradients);
  finite("gradient ", port.results.parameter_gradients);

  // How far above its tolerance a gradient must be seen. In bf16 that is a few percent to a third of the largest value
  // itself; there it is enough that a gradient of zeros would be red.
  const double times = serial.setting.autocast() ? 1 : 1000;
  const auto nonzero = [&](const std::string& kind, const Tensors& expected, const Tensors& actual) {
    for (const auto& [name, e] : expected) {
      const auto d = std::ranges::find(differences, kind + name, &Difference::name);
      const double rounding = d->tolerance;
      const auto& zeros = block_.zero_gradients();
      if (kind == "gradient " && std::ranges::find(zeros, name) != zeros.end()) {
        if (!(largest(e) <= rounding)) not_a_zero_[name] = serial.run.name;
        continue;
      }
      bool& seen = nonzero_[kind + name];
      seen = seen || (largest(e) > 0 && largest(e) > times * rounding && largest(actual[name]) > times * rounding);
    }
  };
  nonzero("input gradient ", serial.results.input_gradients, port.results.input_gradients);
  nonzero("gradient ", serial.results.parameter_gradients, port.results.parameter_gradients);
}

void Facts::see_seeds(const SerialRun& serial, const PortRun& port) {
  for (const auto& [name, full] : serial.output_gradients) {
    at::Tensor sum = at::zeros_like(full);
    for (int rank = 0; rank < mesh_.size(); ++rank) {
      const Box box = box_of(port.output_specs.at(name), full.sizes().vec(), mesh_, mesh_.coordinates(rank));
      const Spec& spec = port.output_specs.at(name);
      bool counts = true;  // a partial output's gradient is replicated: count one of them
      for (Axis a : all_axes) counts = counts && !(spec.is_partial(a) && mesh_.coordinates(rank)[a] != 0);
      if (counts) narrow_to(sum, box).add_(port.ranks[rank].seeds.at(name).to(at::kDouble));
    }
    if (!sum.equal(full)) seeds_bad_ = "the ranks' seeds of " + name + " do not add up to serial's";
    if (full.numel() > 1 && full.flatten().eq(full.flatten()[0]).all().item<bool>())
      seeds_bad_ = "the gradient of " + name + " is constant";
  }
}

std::string Facts::inactive_axis(const std::map<Axis, bool>& seen, const std::string& what) const {
  for (Axis axis : all_axes) {
    if (mesh_.extent(axis) == 1) continue;
    const auto it = seen.find(axis);
    if (it == seen.end()) return std::string(name_of(axis)) + " cuts no input";
    if (!it->second) return what + " along " + std::string(name_of(axis));
  }
  return "";
}

std::string Facts::zero_gradient_reason() const {
  for (const auto& [name, run] : not_a_zero_)
    return "serial's gradient of " + name + " is declared zero but is more than rounding in run " + run;
  for (const auto& [name, seen] : nonzero_)
    if (!seen) return name + " is zero (or rounding) in every run";
  return nonzero_.empty() ? "no gradient was computed" : "";
}

std::string Facts::masks_reason() const {
  if (!mixed_mask_) return "no run has a mask with both values";
  if (!none_mask_) return "no run has nothing valid";
  if (!one_mask_) return "no run has one valid position";
  return all_mask_ ? "" : "no run has all valid";
}

void Facts::write(Cell& cell) const {
  cell.fact("sharding_active", fact_unless(inactive_axis(cut_, "every rank holds the whole input")));
  cell.fact("uneven_sizes_run", fact_unless(inactive_axis(uneven_, "all ranks hold equal sizes")));
  cell.fact("padding_only_shard_run", fact_unless(padding_only_shard_ ? "" : "no rank held padding only"));
  cell.fact("replicas_identical", fact_unless(replicas_differ_));
  cell.fact("gradients_finite", fact_unless(not_finite_));
  cell.fact("gradients_nonzero", fact_unless(zero_gradient_reason()));
  cell.fact("random_output_gradient", fact_unless(seeds_bad_));
  cell.fact("masks_vary", has_masks_ ? fact_unless(masks_reason()) : not_applicable("the case has no mask"));
  if (parameters_ == 0) {
    cell.fact("every_parameter_compared", not_applicable("no parameters"));
    cell.fact("zero_parameters_perturbed", not_applicable("no parameters"));
    return;
  }
  cell.fact("every_parameter_compared", fact_unless(not_compared_));
  cell.fact("zero_parameters_perturbed",
            fact_unless(constant_parameters_.empty() ? "" : constant_parameters_ + " is constant"));
}

}  // namespace cpize::parity
