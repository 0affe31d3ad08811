// StepTimes: where the time of one step of any model goes, by scope and phase, from Kineto's events.
//
// Every event's own time (without the events inside it) is booked to the scope it ran for: in forward the innermost
// map::Scope around it, in backward the scope that made the autograd node. Kinds: `pack` is packing and unpacking of
// exchanges; `transfer` is handing over, copying between ranks and waiting for peers; the rest is `compute`.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/scope_tracker.hpp"
#include "profile/step.hpp"

namespace cpize::profile {

enum class Work : std::uint8_t { compute, pack, transfer };

struct OperationTime {
  double seconds = 0;
  std::int64_t calls = 0;
};

/// One rank's step.
struct StepTimes {
  double wall = 0;                                                          // seconds
  std::map<Place, std::array<double, 3>> own;                               // seconds by Work
  std::map<std::pair<std::string, std::string>, OperationTime> operations;  // (operation, scope): compute only
  std::int64_t collectives_seen = 0;             // posted exchanges and all-reduces among the events
  std::int64_t collectives = 0, sent_bytes = 0;  // of the same step, by the rank's Traffic

  double seconds(Work work) const;
  double attributed() const;  // in named scopes, all kinds
};

struct ComputeProfile {
  std::vector<StepTimes> ranks;
  std::string trace;  // path of the Chrome trace, "" if none was asked for

  /// The rank whose step took longest.
  const StepTimes& slowest() const;
};

/// One warm-up step and one profiled step on this thread, as on a mesh of one. Writes a Chrome trace to `trace` unless
/// "".
ComputeProfile measure_times(const Step& step, const std::string& trace = "");
/// The same on a mesh, ranks as threads; `make` is called for each of the two steps.
ComputeProfile measure_times(const MeshShape& mesh, const MakeStep& make, const std::string& trace = "");

}  // namespace cpize::profile
