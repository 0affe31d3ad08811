#include "profile/kineto.hpp"

namespace cpize::profile {

namespace kineto = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;

std::unique_ptr<kineto::ProfilerResult> under_kineto(bool gpu, const std::function<void()>& body) {
  const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO);
  std::set<ActivityType> activities{ActivityType::CPU};
  if (gpu) activities.insert(ActivityType::CUDA);
  kineto::prepareProfiler(config, activities);
  kineto::enableProfiler(config, activities);
  try {
    body();
  } catch (...) {
    kineto::disableProfiler();
    throw;
  }
  return kineto::disableProfiler();
}

}  // namespace cpize::profile
