#include "parity/harness/property_case.hpp"

#include <ATen/Parallel.h>

#include <vector>

#include "error/error.hpp"
#include "parity/harness/bits.hpp"
#include "parity/harness/environment.hpp"
#include "parity/harness/ranks.hpp"

namespace cpize::parity {
namespace {

std::vector<RankReport> run_once(const PropertyCase::RankFunction& f, const Setting& setting) {
  return on_every_rank(setting, [&](const MeshPtr& mesh) {
    RankReport report;
    for (const auto& [name, tensor] : f(mesh)) report.tensors[name] = tensor.detach().clone();
    return report;
  });
}

}  // namespace

PropertyCase& PropertyCase::repeat(RankFunction f) {
  repeat_ = std::move(f);
  return *this;
}

PropertyCase& PropertyCase::negative_control(RankFunction f) {
  control_ = std::move(f);
  return *this;
}

std::string repeat_differs(const PropertyCase::RankFunction& f, const Setting& setting) {
  const auto first = run_once(f, setting), second = run_once(f, setting);
  std::size_t elements = 0;
  for (std::size_t rank = 0; rank < first.size(); ++rank) {
    const auto &before = first[rank].tensors, &after = second[rank].tensors;
    if (before.size() != after.size()) return "rank " + std::to_string(rank) + " gave another number of tensors";
    for (const auto& [name, tensor] : before) {
      elements += tensor.numel();
      if (!after.contains(name) || !same_bits(tensor, after.at(name)))
        return name + " on rank " + std::to_string(rank) + " differs";
    }
  }
  return elements > 0 ? "" : "nothing was computed";
}

Measurement measure_property(const PropertyCase& property, const Request& request) {
  if (!property.repeated() || !property.control())
    throw ContractError("property case " + property.name() + ": needs both repeat() and negative_control()");
  at::set_num_threads(1);
  Measurement measurement("property");
  describe_environment(measurement);
  measurement.detail("case", property.name());
  for (const auto& name : request.cells) {
    const CellName cell_name = CellName::parse(name);
    cell_name.require_fp64_cpu();
    const Setting setting = Setting::of(cell_name);
    Cell& cell = measurement.cell(name);
    cell.fact("repeat_bit_identical", fact_unless(repeat_differs(property.repeated(), setting)));
    const std::string seen = repeat_differs(property.control(), setting);
    const bool told_apart = seen.ends_with("differs");
    cell.fact("negative_control_caught",
              fact_unless(told_apart ? "" : "the control repeats its bits" + (seen.empty() ? "" : ": " + seen)));
  }
  return measurement;
}

}  // namespace cpize::parity
