#include "profile/profiled_model.hpp"

#include <fmt/format.h>

namespace cpize::profile {
namespace {

double largest(std::int64_t extent, int parts) { return static_cast<double>((extent + parts - 1) / parts); }

}  // namespace

parity::CostPoint cost_point(const CaseProblem& problem) {
  parity::CostPoint point;
  point.sizes = problem.run.sizes;
  point.mesh = problem.setting.mesh;
  point.element_bytes = static_cast<double>(c10::elementSize(problem.setting.dtype));
  return point;
}

double pair_shard_bytes(const parity::CostPoint& p) {
  return p.element_bytes * largest(p.sizes["B"], p.mesh.extent(Axis::dp)) *
         largest(p.sizes["N"], p.mesh.extent(Axis::cp0)) * largest(p.sizes["N"], p.mesh.extent(Axis::cp1)) *
         static_cast<double>(p.sizes["C"]);
}

double token_channel_bytes(const parity::CostPoint& p) {
  return p.element_bytes * largest(p.sizes["B"], p.mesh.extent(Axis::dp)) * largest(p.sizes["N"], p.mesh.cp_size());
}

double parameter_bytes_of(const ProfiledModel& model, const torch::nn::Module* module, const std::string& scope) {
  double bytes = 0;
  for (const auto& [name, p] : parity::parameters_of(module))
    if (model.belongs(name, scope)) bytes += static_cast<double>(p.nbytes());
  return bytes;
}

std::string title_of(const CaseProblem& problem, bool serial) {
  const auto& setting = problem.setting;
  return fmt::format("{}, {}, N = {}, C = {}",
                     serial ? "serial" : "mesh " + setting.mesh.str() + " over " + setting.backend,
                     setting.dtype_name(), problem.run.sizes["N"], problem.run.sizes["C"]);
}

}  // namespace cpize::profile
