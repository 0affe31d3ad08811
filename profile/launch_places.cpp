#include "profile/launch_places.hpp"

#include <algorithm>
#include <tuple>

namespace cpize::profile {
namespace {

constexpr std::string_view kEvaluate = "autograd::engine::evaluate_function";

/// Walks one thread's ranges in their order and knows at each point for whom it works.
class HostThread {
 public:
  HostThread(const NodeScopes& nodes, std::unordered_map<std::int64_t, Launch>& launches)
      : nodes_(nodes), launches_(launches) {}

  void walk(std::vector<const TraceEvent*> events) {
    // Ranges nest; a launch comes after the ranges that begin with it.
    std::sort(events.begin(), events.end(), [](const TraceEvent* a, const TraceEvent* b) {
      const auto order = [](const TraceEvent& e) {
        return std::tuple(e.begin, e.kind == TraceEvent::Kind::launch, -e.end);
      };
      return order(*a) < order(*b);
    });
    for (const TraceEvent* e : events) {
      while (!open_.empty() && open_.back().end <= e->begin) open_.pop_back();
      if (e->kind == TraceEvent::Kind::launch)
        launches_[e->correlation] = {e->begin, e->end, inside().place, inside().work};
      else
        enter(*e);
    }
  }

 private:
  struct Range {
    std::int64_t end = 0;
    Place place;
    Work work = Work::compute;
    bool inside_node = false;
  };

  /// What surrounds the next event. Between two nodes the engine works for the one before.
  Range inside() const {
    return open_.empty() ? Range{0, {ran_node_ ? node_path_ : "", ran_node_ ? Phase::backward : Phase::forward}}
                         : open_.back();
  }

  void enter(const TraceEvent& e) {
    Range range = inside();
    range.end = e.end;
    if (e.name.starts_with(kEvaluate)) {
      const bool ours = e.forward_thread == 0 || e.forward_thread == static_cast<std::int64_t>(nodes_.thread_id());
      if (e.sequence >= 0 && ours) node_path_ = nodes_.path_of_node(e.sequence);
      range.place = {node_path_, Phase::backward};
      range.inside_node = true;
      // A thread of the engine does nothing else; one that called backward goes on with other things.
      ran_node_ = open_.empty();
    } else if (e.kind == TraceEvent::Kind::annotation) {
      if (e.name == "exchange.pack" || e.name == "exchange.unpack")
        range.work = Work::pack;
      else if (e.name.starts_with("exchange.") || e.name == "reduce_gradients.all_reduce")
        range.work = Work::transfer;
      else if (e.name != "cpize.step" && !e.name.starts_with("nccl:"))
        range.place = {e.name, range.inside_node ? Phase::recompute : Phase::forward};
    }
    open_.push_back(range);
  }

  const NodeScopes& nodes_;
  std::unordered_map<std::int64_t, Launch>& launches_;
  std::vector<Range> open_;
  std::string node_path_;
  bool ran_node_ = false;
};

}  // namespace

std::unordered_map<std::int64_t, Launch> launch_places(const std::vector<TraceEvent>& events, const NodeScopes& nodes) {
  std::map<std::int64_t, std::vector<const TraceEvent*>> threads;
  for (const auto& e : events) {
    const bool range = e.kind == TraceEvent::Kind::operation || e.kind == TraceEvent::Kind::annotation;
    if (range || (e.kind == TraceEvent::Kind::launch && e.correlation >= 0)) threads[e.track].push_back(&e);
  }
  std::unordered_map<std::int64_t, Launch> launches;
  for (auto& [thread, of_thread] : threads) HostThread(nodes, launches).walk(std::move(of_thread));
  return launches;
}

}  // namespace cpize::profile
