#include "profile/compute_attribution.hpp"

namespace cpize::profile {

ComputeProfile profile_serial_compute(const SliceProblem& problem, const std::string& trace) {
  SerialSliceRun run(problem);
  return measure_times(
      [&](const AfterForward& after_forward) {
        run.step(after_forward);
        run.clear_gradients();
      },
      trace);
}

ComputeProfile profile_port_compute(const SliceProblem& problem, const MeshShape& shape, const std::string& trace) {
  return measure_times(
      shape,
      [&](const MeshPtr& mesh) -> Step {
        auto run = std::make_shared<PortSliceRun>(problem, mesh);
        return [run](const AfterForward& after_forward) { run->step(after_forward); };
      },
      trace);
}

}  // namespace cpize::profile
