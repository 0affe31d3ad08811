// measure_device_times: one rank's step of any model on its GPU, recorded by Kineto.
#pragma once
#include "profile/device_times.hpp"

namespace cpize::profile {

/// Two steps to warm up, five whose median is what a step takes by itself, one to warm up the profiler, one that is
/// recorded. A collective of the mesh, whose ranks are processes with a GPU each. Writes a Chrome trace to `trace`
/// unless "".
DeviceTimes measure_device_times(const Step& step, const MeshPtr& mesh, c10::Device device,
                                 const std::string& trace = "");

}  // namespace cpize::profile
