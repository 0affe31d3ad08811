// docs/nsys_report.md: where the time of a step goes, by scope; communication against computation; longest operations.
#pragma once
#include <optional>

#include "profile/compute_attribution.hpp"

namespace cpize::profile {

/// A mesh (serial: none) and a size, measured.
struct MeasuredTimes {
  SliceSize size;
  std::optional<MeshShape> mesh;
  ComputeProfile profile;
};

/// Scopes whose packing and transfer take more than half of their time, "scope phase".
std::vector<std::string> communication_bound(const StepTimes& times);

std::string compute_report(const std::vector<MeasuredTimes>& runs, int hardware_threads);

}  // namespace cpize::profile
