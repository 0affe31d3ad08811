// Step: a rank's share of a training step, as profilers and benchmarks run it, whatever the model.
#pragma once
#include <functional>

#include "mesh/device_mesh.hpp"

namespace cpize::profile {

/// Called between forward and backward.
using AfterForward = std::function<void()>;
/// Forward, backward and reduce_gradients, once; calls its argument in between if there is one.
using Step = std::function<void(const AfterForward&)>;
/// Makes a rank's step with everything that it reads; not measured. Every rank of the mesh calls it.
using MakeStep = std::function<Step(const MeshPtr&)>;

}  // namespace cpize::profile
