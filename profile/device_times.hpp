// DeviceTimes: where a GPU's time goes in one step of any model, from the events of a trace.
//
// Every kernel and copy is booked to the scope that launched it: its correlation leads to the call that launched it,
// and the ranges around that call on its thread to the scope, in backward by the autograd node that ran
// (scope_tracker.hpp). Kinds: `transfer` is NCCL's kernels, which contain the waiting for peers; `pack` is what
// exchanges launch to pack and unpack; the rest is `compute`, copies included.
//
// Communication is exposed where no other kernel runs beside it: what overlapping could win. The GPU idles where
// nothing runs at all; that time is booked to the scope whose work came next, and it is the host's where that work had
// not been launched yet. compute + exposed + idle = wall, where compute is the time in which anything but NCCL runs.
#pragma once
#include <cstdint>
#include "profile/step_times.hpp"
#include "profile/trace_events.hpp"

namespace cpize::profile {

struct DevicePlaceTimes {
  std::array<double, 3> own{};  // seconds of kernels by Work; kernels that run side by side count each
  double exposed = 0;           // of its communication
  double idle_before = 0;       // the GPU idled until this place's work began
};

struct DeviceTimes {
  double wall = 0;           // seconds of the step, the GPU's last kernel included
  double unprofiled = 0;     // of a step that nobody records; 0 where it was not measured
  double compute = 0;        // in which anything but NCCL ran
  double communication = 0;  // in which NCCL ran
  double exposed = 0;        // in which NCCL alone ran
  double idle = 0, idle_for_host = 0;
  std::map<Place, DevicePlaceTimes> places;
  std::map<std::pair<std::string, std::string>, OperationTime> kernels;  // (kernel, scope)
  std::int64_t activities = 0, without_launch = 0;  // kernels and copies; those whose launch the trace lacks
  std::int64_t communication_kernels = 0;
  std::int64_t collectives_seen = 0;             // posted exchanges and all-reduces among the host's ranges
  std::int64_t collectives = 0, sent_bytes = 0;  // of the same step, by the rank's Traffic

  double seconds(Work work) const;  // of kernels
  /// Of the kernels' time, the part that belongs to a named scope.
  double attributed_share() const;
};

/// The step is the range kStepRange, which the host begins with an idle GPU and ends after waiting for it.
/// ContractError where the trace has none, or no GPU's work in it.
inline constexpr const char* kStepRange = "cpize.step";
DeviceTimes device_times(const std::vector<TraceEvent>& events, const NodeScopes& nodes);

}  // namespace cpize::profile
