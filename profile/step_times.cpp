#include "profile/step_times.hpp"

#include <ATen/Parallel.h>

#include <algorithm>

#include "comm/agree.hpp"
#include "comm/run_ranks.hpp"
#include "error/error.hpp"
#include "profile/kineto.hpp"

namespace cpize::profile {
namespace {

namespace kineto = torch::autograd::profiler;

constexpr const char* kStep = "cpize.step";
constexpr std::string_view kEvaluate = "autograd::engine::evaluate_function";

/// Books the events of one thread.
class EventReader {
 public:
  EventReader(const NodeScopes& nodes, StepTimes& times) : nodes_(nodes), times_(times) {}

  void read(const std::vector<kineto::KinetoEvent>& all) {
    std::vector<const kineto::KinetoEvent*> events;
    std::uint64_t begin = 0, end = 0;
    for (const auto& e : all) {
      if (e.startThreadId() != nodes_.thread_id()) continue;
      events.push_back(&e);
      if (e.name() == kStep) begin = e.startNs(), end = e.endNs();
    }
    if (end == begin) throw ContractError("the trace has no step of thread " + std::to_string(nodes_.thread_id()));
    times_.wall = static_cast<double>(end - begin) * 1e-9;
    std::erase_if(events, [&](const auto* e) { return e->startNs() < begin || e->endNs() > end; });
    std::sort(events.begin(), events.end(), [](const auto* a, const auto* b) {
      return std::pair{a->startNs(), b->endNs()} < std::pair{b->startNs(), a->endNs()};
    });
    for (const auto* e : events) {
      while (!open_.empty() && open_.back().event->endNs() <= e->startNs()) close();
      open(*e);
    }
    while (!open_.empty()) close();
  }

 private:
  struct Open {
    const kineto::KinetoEvent* event;
    Place place;
    Work work;
    bool inside_node;
    std::uint64_t children = 0;  // nanoseconds
  };

  void open(const kineto::KinetoEvent& e) {
    const bool root = open_.empty();
    Open now{&e, root ? Place{} : open_.back().place, root ? Work::compute : open_.back().work,
             !root && open_.back().inside_node};
    const std::string name = e.name();
    const auto scope = static_cast<at::RecordScope>(e.scope());
    if (scope == at::RecordScope::BACKWARD_FUNCTION || name.starts_with(kEvaluate)) {
      if (e.sequenceNr() >= 0) node_path_ = nodes_.path_of_node(e.sequenceNr());
      now.place = {node_path_, Phase::backward};
      now.inside_node = true;
    } else if (scope == at::RecordScope::USER_SCOPE && name.starts_with("exchange.")) {
      now.work = name == "exchange.pack" || name == "exchange.unpack" ? Work::pack : Work::transfer;
      times_.collectives_seen += name == "exchange.post";
    } else if (scope == at::RecordScope::USER_SCOPE && name == "reduce_gradients.all_reduce") {
      now.work = Work::transfer;
      ++times_.collectives_seen;
    } else if (scope == at::RecordScope::USER_SCOPE && name != kStep) {
      now.place = {name, now.inside_node ? Phase::recompute : Phase::forward};
    }
    if (!root) open_.back().children += e.endNs() - e.startNs();
    open_.push_back(now);
  }

  void close() {
    const Open done = open_.back();
    open_.pop_back();
    const std::uint64_t whole = done.event->endNs() - done.event->startNs();
    const double own = static_cast<double>(whole - std::min(whole, done.children)) * 1e-9;
    times_.own[done.place][static_cast<std::size_t>(done.work)] += own;
    if (done.work != Work::compute || done.event->name() == kStep) return;
    auto& operation = times_.operations[{done.event->name(), done.place.path}];
    operation.seconds += own;
    ++operation.calls;
  }

  const NodeScopes& nodes_;
  StepTimes& times_;
  std::vector<Open> open_;
  std::string node_path_;
};

/// A step as one range, so that what lies in no scope shows, too.
NodeScopes timed_step(const Step& step) {
  const ScopeTracker tracker;
  {
    RECORD_USER_SCOPE(kStep);
    step({});
  }
  return tracker.nodes();
}

void read_all(kineto::ProfilerResult& result, const std::vector<NodeScopes>& nodes, ComputeProfile& profile,
              const std::string& trace) {
  for (std::size_t rank = 0; rank < nodes.size(); ++rank)
    EventReader(nodes[rank], profile.ranks[rank]).read(result.events());
  if (!trace.empty()) result.save(trace);
  profile.trace = trace;
}

}  // namespace

double StepTimes::seconds(Work work) const {
  double sum = 0;
  for (const auto& [place, times] : own) sum += times[static_cast<std::size_t>(work)];
  return sum;
}

double StepTimes::attributed() const {
  double sum = 0;
  for (const auto& [place, times] : own)
    if (!place.path.empty()) sum += times[0] + times[1] + times[2];
  return sum;
}

const StepTimes& ComputeProfile::slowest() const {
  return *std::max_element(ranks.begin(), ranks.end(),
                           [](const StepTimes& a, const StepTimes& b) { return a.wall < b.wall; });
}

ComputeProfile measure_times(const Step& step, const std::string& trace) {
  step({});
  ComputeProfile profile;
  profile.ranks.resize(1);
  std::vector<NodeScopes> nodes(1);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);  // as on a mesh: one thread a rank
  const auto result = under_kineto(false, [&] { nodes[0] = timed_step(step); });
  at::set_num_threads(threads);
  read_all(*result, nodes, profile, trace);
  return profile;
}

ComputeProfile measure_times(const MeshShape& shape, const MakeStep& make, const std::string& trace) {
  comm::run_ranks(shape, [&](const MeshPtr& mesh) { make(mesh)({}); });
  ComputeProfile profile;
  profile.ranks.resize(shape.size());
  std::vector<NodeScopes> nodes(shape.size());
  const auto result = under_kineto(false, [&] {
    comm::run_ranks(shape, [&](const MeshPtr& mesh) {
      const Step step = make(mesh);
      comm::agree_no_error(*mesh, "");  // start together
      StepTimes& times = profile.ranks[mesh->rank()];
      const std::int64_t collectives = mesh->traffic().collectives, sent = mesh->traffic().sent_bytes;
      nodes[mesh->rank()] = timed_step(step);
      times.collectives = mesh->traffic().collectives - collectives;
      times.sent_bytes = mesh->traffic().sent_bytes - sent;
    });
  });
  read_all(*result, nodes, profile, trace);
  return profile;
}

}  // namespace cpize::profile
