// LaunchPlaces: for whom the host worked when it launched what a GPU runs.
#pragma once
#include <cstdint>
#include <unordered_map>

#include "profile/step_times.hpp"
#include "profile/trace_events.hpp"

namespace cpize::profile {

struct Launch {
  std::int64_t begin = 0, end = 0;  // of the call, nanoseconds
  Place place;
  Work work = Work::compute;  // pack or transfer inside the ranges of an exchange
};

/// By correlation.
std::unordered_map<std::int64_t, Launch> launch_places(const std::vector<TraceEvent>& events, const NodeScopes& nodes);

}  // namespace cpize::profile
