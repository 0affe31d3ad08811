#include "profile/scope_tracker.hpp"

#include <ATen/SequenceNumber.h>
#include <torch/csrc/autograd/graph_task.h>

#include "error/error.hpp"
#include "map/scope.hpp"

namespace cpize::profile {
namespace {

thread_local ScopeTracker* active = nullptr;  // callbacks are plain functions
const std::string kNone;

}  // namespace

std::string_view name_of(Phase phase) {
  constexpr std::string_view names[] = {"forward", "backward", "recompute"};
  return names[static_cast<std::size_t>(phase)];
}

struct ScopeTracker::OpenRange : at::ObserverContext {
  std::uint64_t begin = at::sequence_number::peek();
  std::string path = map::Scope::current_path();
};

ScopeTracker::ScopeTracker() : nodes_(at::RecordFunction::currentThreadId()) {
  if (active) throw ContractError("this thread has a ScopeTracker already");
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&ScopeTracker::before, &ScopeTracker::after)
                                           .scopes({at::RecordScope::USER_SCOPE, at::RecordScope::BACKWARD_FUNCTION}));
  active = this;
}

ScopeTracker::~ScopeTracker() {
  active = nullptr;
  at::removeCallback(handle_);
}

std::unique_ptr<at::ObserverContext> ScopeTracker::before(const at::RecordFunction& function) {
  if (!active) return nullptr;
  if (function.scope() == at::RecordScope::USER_SCOPE) return std::make_unique<OpenRange>();
  active->ambient_ = map::Scope::current_path();
  active->graph_task_ = torch::autograd::get_current_graph_task_id();
  // Leaves (AccumulateGrad) have no number of their own: they go on with what the node before them made.
  if (function.seqNr() >= 0) active->node_path_ = active->nodes_.path_of_node(function.seqNr());
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
  if (task != graph_task_) return {kNone, Phase::backward};
  if (open.size() > ambient_.size()) return {open, Phase::recompute};
  return {node_path_, Phase::backward};
}

const std::string& NodeScopes::path_of_node(std::int64_t sequence_number) const {
  const auto number = static_cast<std::uint64_t>(sequence_number);
  for (const auto& range : ranges_)
    if (sequence_number >= 0 && range.begin <= number && number < range.end) return range.path;
  return kNone;
}

}  // namespace cpize::profile
