#include "profile/scope_tracker.hpp"

#include <ATen/SequenceNumber.h>
#include <torch/csrc/autograd/graph_task.h>

#include <atomic>

#include "error/error.hpp"
#include "map/scope.hpp"

namespace cpize::profile {
namespace {

// Callbacks are plain functions. The engine's threads carry those of the thread that called backward, but no tracker.
thread_local ScopeTracker* active = nullptr;
std::atomic<ScopeTracker*> active_everywhere = nullptr;
const std::string kNone;

ScopeTracker* reaching() { return active ? active : active_everywhere.load(); }

/// The node that a thread runs, or ran last.
struct Running {
  const ScopeTracker* tracker = nullptr;
  int graph_task = -1;  // the backward that it belongs to
  std::string path;
  std::string ambient;  // the scope around the call of backward
};
thread_local Running running;

}  // namespace

std::string_view name_of(Phase phase) {
  constexpr std::string_view names[] = {"forward", "backward", "recompute"};
  return names[static_cast<std::size_t>(phase)];
}

struct ScopeTracker::OpenRange : at::ObserverContext {
  std::uint64_t begin = at::sequence_number::peek();
  std::string path = map::Scope::current_path();
};

ScopeTracker::ScopeTracker(Reach reach) : reach_(reach), nodes_(at::RecordFunction::currentThreadId()) {
  if (active) throw ContractError("this thread has a ScopeTracker already");
  ScopeTracker* none = nullptr;
  if (reach == Reach::process && !active_everywhere.compare_exchange_strong(none, this))
    throw ContractError("this process has a ScopeTracker of Reach::process already");
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&ScopeTracker::before, &ScopeTracker::after)
                                           .scopes({at::RecordScope::USER_SCOPE, at::RecordScope::BACKWARD_FUNCTION}));
  active = this;
  running = {};
}

ScopeTracker::~ScopeTracker() {
  active = nullptr;
  if (reach_ == Reach::process) active_everywhere = nullptr;
  at::removeCallback(handle_);
}

std::unique_ptr<at::ObserverContext> ScopeTracker::before(const at::RecordFunction& function) {
  ScopeTracker* const tracker = reaching();
  if (!tracker) return nullptr;
  // Nodes made in the engine's threads are numbered anew there: only this thread's are noted.
  if (function.scope() == at::RecordScope::USER_SCOPE)
    return tracker == active ? std::make_unique<OpenRange>() : nullptr;
  if (running.tracker != tracker) running = {tracker, -1, kNone, kNone};
  running.ambient = map::Scope::current_path();
  running.graph_task = torch::autograd::get_current_graph_task_id();
  // Leaves (AccumulateGrad) have no number of their own: they go on with what the node before them made.
  if (function.seqNr() >= 0 && function.forwardThreadId() == tracker->nodes_.thread_id())
    running.path = tracker->nodes_.path_of_node(function.seqNr());
  return nullptr;
}

void ScopeTracker::after(const at::RecordFunction&, at::ObserverContext* context) {
  auto* open = dynamic_cast<OpenRange*>(context);
  if (!active || !open || open->path.empty()) return;
  const std::uint64_t end = at::sequence_number::peek();
  if (end > open->begin) active->nodes_.add(open->begin, end, open->path);
}

Place ScopeTracker::here() const {
  const std::string& open = map::Scope::current_path();
  const int task = torch::autograd::get_current_graph_task_id();
  if (task < 0) return {open, Phase::forward};
  if (running.tracker != this || task != running.graph_task) return {kNone, Phase::backward};
  if (open.size() > running.ambient.size()) return {open, Phase::recompute};
  return {running.path, Phase::backward};
}

Place ScopeTracker::of_this_thread() {
  const ScopeTracker* const tracker = reaching();
  return tracker ? tracker->here() : Place{};
}

const std::string& NodeScopes::path_of_node(std::int64_t sequence_number) const {
  const auto number = static_cast<std::uint64_t>(sequence_number);
  for (const auto& range : ranges_)
    if (sequence_number >= 0 && range.begin <= number && number < range.end) return range.path;
  return kNone;
}

}  // namespace cpize::profile
