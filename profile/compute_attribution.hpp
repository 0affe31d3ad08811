// The time of a step of the pair slice, serial and on a mesh.
#pragma once
#include "profile/scoped_slice.hpp"
#include "profile/step_times.hpp"

namespace cpize::profile {

/// One warm-up step and one profiled step of the serial slice. Writes a Chrome trace to `trace` unless "".
ComputeProfile profile_serial_compute(const SliceProblem& problem, const std::string& trace = "");
/// The same on a mesh, ranks as threads.
ComputeProfile profile_port_compute(const SliceProblem& problem, const MeshShape& mesh, const std::string& trace = "");

}  // namespace cpize::profile
