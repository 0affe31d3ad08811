// ScopeTracker: which named scope this thread is working for, forward or backward.
//
// In forward that is map::Scope::current_path(). In backward no scope is open any more, but every autograd node carries
// the sequence number it got when it was made: the tracker notes the range of numbers handed out inside each scope, and
// looks up the number of the node that runs. Work of the engine between two nodes (adding gradients up) belongs to the
// node before it. A scope that is opened inside a running node is recomputation (checkpointing).
//
// The backward of a graph on the CPU runs in the thread that asks for it; that of a graph on a GPU in a thread of the
// engine: Reach::process.
#pragma once
#include <ATen/record_function.h>

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cpize::profile {

enum class Phase : std::uint8_t { forward, backward, recompute };
std::string_view name_of(Phase phase);

/// A scope's path ("" outside of all) and what the thread does for it.
struct Place {
  std::string path;
  Phase phase = Phase::forward;
  friend auto operator<=>(const Place&, const Place&) = default;
};

/// Which scope made which autograd nodes of one thread. A value: it outlives the tracker.
class NodeScopes {
 public:
  explicit NodeScopes(std::uint64_t thread_id = 0) : thread_id_(thread_id) {}

  void add(std::uint64_t begin, std::uint64_t end, const std::string& path) { ranges_.push_back({begin, end, path}); }
  /// The innermost scope in which the autograd node with this sequence number was made; "" if none.
  const std::string& path_of_node(std::int64_t sequence_number) const;
  /// The number by which Kineto's events name the thread.
  std::uint64_t thread_id() const { return thread_id_; }

 private:
  struct Range {
    std::uint64_t begin, end;
    std::string path;
  };
  std::uint64_t thread_id_;
  std::vector<Range> ranges_;  // in the order of closing, so that inner scopes come first
};

/// One a thread; forward runs in the thread that made it.
class ScopeTracker {
 public:
  enum class Reach : std::uint8_t {
    thread,  // backward runs in this thread, too: graphs on the CPU
    process  // backward may run in the engine's threads: graphs on a GPU, one rank a process
  };
  /// ContractError where the thread, or with Reach::process the process, has one already.
  explicit ScopeTracker(Reach reach = Reach::thread);
  ~ScopeTracker();
  ScopeTracker(const ScopeTracker&) = delete;
  ScopeTracker& operator=(const ScopeTracker&) = delete;

  /// What the calling thread does: the tracker's, or one within its reach.
  Place here() const;
  /// The same by whatever tracker reaches the calling thread; no scope where none does.
  static Place of_this_thread();
  const NodeScopes& nodes() const { return nodes_; }

 private:
  struct OpenRange;
  static std::unique_ptr<at::ObserverContext> before(const at::RecordFunction& function);
  static void after(const at::RecordFunction& function, at::ObserverContext* context);

  const Reach reach_;
  NodeScopes nodes_;
  at::CallbackHandle handle_;
};

}  // namespace cpize::profile
