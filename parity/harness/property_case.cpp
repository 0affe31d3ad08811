#include "parity/harness/property_case.hpp"

#include <ATen/Parallel.h>

#include <vector>

#include "comm/run_ranks.hpp"
#include "error/error.hpp"
#include "parity/harness/bits.hpp"
#include "parity/harness/environment.hpp"

namespace cpize::parity {
namespace {

std::vector<Tensors> run_once(const PropertyCase::RankFunction& f, const MeshShape& mesh) {
  std::vector<Tensors> ranks(mesh.size());
  comm::run_ranks(mesh, [&](const MeshPtr& rank_mesh) {
    Tensors detached;
    for (const auto& [name, tensor] : f(rank_mesh)) detached.set(name, tensor.detach().clone());
    ranks[rank_mesh->rank()] = std::move(detached);
  });
  return ranks;
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

std::string repeat_differs(const PropertyCase::RankFunction& f, const MeshShape& mesh) {
  const auto first = run_once(f, mesh), second = run_once(f, mesh);
  std::size_t elements = 0;
  for (int rank = 0; rank < mesh.size(); ++rank) {
    if (first[rank].size() != second[rank].size())
      return "rank " + std::to_string(rank) + " gave another number of tensors";
    for (const auto& [name, tensor] : first[rank]) {
      elements += tensor.numel();
      if (!second[rank].has(name) || !same_bits(tensor, second[rank][name]))
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
    cell_name.require_threads_fp64_cpu();
    const MeshShape mesh = MeshShape::parse(cell_name.mesh);
    Cell& cell = measurement.cell(name);
    cell.fact("repeat_bit_identical", fact_unless(repeat_differs(property.repeated(), mesh)));
    const std::string seen = repeat_differs(property.control(), mesh);
    const bool told_apart = seen.ends_with("differs");
    cell.fact("negative_control_caught",
              fact_unless(told_apart ? "" : "the control repeats its bits" + (seen.empty() ? "" : ": " + seen)));
  }
  return measurement;
}

}  // namespace cpize::parity
