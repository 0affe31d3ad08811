// training_steps: a small loop like a trainer's, over a real port, for faults to happen in.
//
// Each step: rank 0 reads (agreed), a sample may be left out (agreed), triangle multiplication forward and backward,
// the loss is checked on all ranks (agreed), gradients are reduced. Whatever a rank decides alone is agreed before the
// next collective.
#pragma once
#include "mesh/device_mesh.hpp"
#include "parity/liveness/faulty_backend.hpp"

namespace cpize::parity {

struct StepsDone {
  int steps = 0, skipped = 0;
  double gradient = 0;  // a number that every rank must have alike
};

/// On every rank of `mesh`, whose backend is `faulty`.
StepsDone training_steps(const MeshPtr& mesh, FaultyBackend& faulty, const FaultPlan& plan, int steps);

}  // namespace cpize::parity
