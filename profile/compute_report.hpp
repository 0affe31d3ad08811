// docs/nsys_report.md: where the time of a step goes, by scope; communication against computation; longest operations.
#pragma once

#include "profile/step_times.hpp"

namespace cpize::profile {

/// A run, measured.
struct MeasuredTimes {
  std::string title;
  std::vector<std::string> scopes;  // of the model, in order
  bool serial = false;
  ComputeProfile profile;
};

/// Scopes whose packing and transfer take more than half of their time, "scope phase".
std::vector<std::string> communication_bound(const StepTimes& times);

std::string compute_report(const std::string& model, const std::vector<MeasuredTimes>& runs, int hardware_threads);

}  // namespace cpize::profile
