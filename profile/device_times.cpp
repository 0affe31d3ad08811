#include "profile/device_times.hpp"

#include <algorithm>
#include <optional>

#include "error/error.hpp"
#include "profile/intervals.hpp"
#include "profile/launch_places.hpp"

namespace cpize::profile {
namespace {

double to_seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

struct Activity {
  Interval time;
  const TraceEvent* event;
  std::optional<Launch> launch;
  Work work;

  Place place() const { return launch ? launch->place : Place{}; }
};

/// NCCL's kernels, and the copies that a backend enqueues for an exchange.
bool is_communication(const Activity& a) {
  if (a.event->kind == TraceEvent::Kind::kernel) return a.event->name.starts_with("nccl");
  return a.launch && a.launch->work == Work::transfer;
}

Interval step_of(const std::vector<TraceEvent>& events) {
  for (const auto& e : events)
    if (e.kind == TraceEvent::Kind::annotation && e.name == kStepRange) return {e.begin, e.end};
  throw ContractError(std::string("the trace has no range ") + kStepRange);
}

/// The step's kernels and copies, by their begin.
std::vector<Activity> activities_of(const std::vector<TraceEvent>& events, const NodeScopes& nodes, Interval step) {
  const auto launches = launch_places(events, nodes);
  std::vector<Activity> activities;
  for (const auto& e : events) {
    if (e.kind != TraceEvent::Kind::kernel && e.kind != TraceEvent::Kind::copy) continue;
    const Interval time{std::max(e.begin, step.begin), std::min(e.end, step.end)};
    if (time.end <= time.begin) continue;
    Activity activity{time, &e, {}, Work::compute};
    if (const auto at = launches.find(e.correlation); at != launches.end()) activity.launch = at->second;
    if (is_communication(activity))
      activity.work = Work::transfer;
    else if (activity.launch && activity.launch->work == Work::pack)
      activity.work = Work::pack;
    activities.push_back(activity);
  }
  std::sort(activities.begin(), activities.end(),
            [](const Activity& a, const Activity& b) { return a.time.begin < b.time.begin; });
  return activities;
}

IntervalSet union_of(const std::vector<Activity>& activities, bool communication) {
  std::vector<Interval> pieces;
  for (const auto& a : activities)
    if ((a.work == Work::transfer) == communication) pieces.push_back(a.time);
  return IntervalSet(std::move(pieces));
}

/// Each piece of exposed communication goes to the kernel that began first.
void book_exposed(const std::vector<Activity>& activities, IntervalSet exposed, DeviceTimes& times) {
  for (const auto& a : activities) {
    if (a.work != Work::transfer) continue;
    const IntervalSet own(std::vector<Interval>{a.time});
    const std::int64_t length = exposed.both(own).length();
    if (length == 0) continue;
    times.places[a.place()].exposed += to_seconds(length);
    exposed = exposed.without(own);
  }
}

/// Each gap goes to the work that ended it; the last one, until the host has noticed the end, to no scope.
void book_idle(const std::vector<Activity>& activities, const IntervalSet& idle, DeviceTimes& times) {
  auto next = activities.begin();
  for (const Interval& gap : idle.pieces()) {
    while (next != activities.end() && next->time.begin < gap.end) ++next;
    const bool last = next == activities.end();
    times.places[last ? Place{} : next->place()].idle_before += to_seconds(gap.end - gap.begin);
    const std::int64_t launched = last || !next->launch ? gap.end : next->launch->end;
    times.idle_for_host += to_seconds(std::clamp(launched, gap.begin, gap.end) - gap.begin);
  }
  times.idle = to_seconds(idle.length());
}

}  // namespace

double DeviceTimes::seconds(Work work) const {
  double sum = 0;
  for (const auto& [place, of] : places) sum += of.own[static_cast<std::size_t>(work)];
  return sum;
}

double DeviceTimes::attributed_share() const {
  double named = 0, all = 0;
  for (const auto& [place, of] : places)
    for (const double own : of.own) (place.path.empty() ? all : named) += own;
  all += named;
  return all > 0 ? named / all : 0;
}

DeviceTimes device_times(const std::vector<TraceEvent>& events, const NodeScopes& nodes) {
  const Interval step = step_of(events);
  const auto activities = activities_of(events, nodes, step);
  if (activities.empty())
    throw ContractError("the trace shows no GPU's work in the step: were CUDA's activities recorded?");
  DeviceTimes times;
  times.wall = to_seconds(step.end - step.begin);
  for (const auto& a : activities) {
    const double seconds = to_seconds(a.time.end - a.time.begin);
    times.places[a.place()].own[static_cast<std::size_t>(a.work)] += seconds;
    auto& kernel = times.kernels[{a.event->name, a.place().path}];
    kernel.seconds += seconds;
    ++kernel.calls;
    ++times.activities;
    times.without_launch += !a.launch;
    times.communication_kernels += a.work == Work::transfer;
  }
  for (const auto& e : events)
    if (e.kind == TraceEvent::Kind::annotation && e.begin >= step.begin && e.end <= step.end)
      times.collectives_seen += e.name == "exchange.post" || e.name == "reduce_gradients.all_reduce";

  const IntervalSet communication = union_of(activities, true), other = union_of(activities, false);
  const IntervalSet exposed = communication.without(other);
  const IntervalSet whole(std::vector<Interval>{step});
  times.communication = to_seconds(communication.length());
  times.compute = to_seconds(other.length());
  times.exposed = to_seconds(exposed.length());
  book_exposed(activities, exposed, times);
  book_idle(activities, whole.without(communication).without(other), times);
  return times;
}

}  // namespace cpize::profile
