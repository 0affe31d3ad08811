// StepMemory: who holds how many bytes in one step of any model, by named scope.
#pragma once
#include <cstdint>
#include "profile/memory_attribution.hpp"
#include "profile/step.hpp"

namespace cpize::profile {

struct StepMemory {
  std::int64_t peak = 0;
  BytesByPlace at_peak;
  BytesByPlace saved;  // live between forward and backward; the output is among it
  std::map<Place, PlaceBytes> totals;
  std::map<std::string, std::int64_t> own_peak, own_forward_peak;
  std::map<Place, double> flops;

  /// Of the bytes at the peak, the part that belongs to a named scope.
  double attributed_share() const;
};

/// Runs the step on this thread. What is live before it does not count; results wider than `dtype` are marked.
StepMemory measure_memory(const Step& step, at::ScalarType dtype);

/// One step on every rank of a mesh, ranks as threads; by rank.
std::vector<StepMemory> measure_memory(const MeshShape& mesh, const MakeStep& make, at::ScalarType dtype);

}  // namespace cpize::profile
