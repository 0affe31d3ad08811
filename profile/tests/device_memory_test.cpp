// Allocator history: events are booked by scope, scopes stand where stacks stand in snapshots, and a backward in
// another thread finds its scopes.
#include <ATen/ATen.h>
#include <ATen/ThreadLocalState.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <thread>

#include "error/error.hpp"
#include "map/scope.hpp"
#include "profile/memory_history.hpp"
#include "profile/scope_traceback.hpp"

namespace cpize::profile {
namespace {

constexpr auto allocated = MemoryEvent::Kind::allocated, released = MemoryEvent::Kind::released;

TEST(MemoryHistory, BooksThePeakTheSavedAndTheTotals) {
  const Place a{"a", Phase::forward}, b{"b", Phase::forward}, back{"a", Phase::backward};
  const std::vector<MemoryEvent> events{{released, 7, 1000, {}},  // older than the history
                                        {allocated, 1, 100, a},    {allocated, 2, 50, b},
                                        {released, 2, 50, {}},     {allocated, 2, 30, b},  // the address comes again
                                        {allocated, 3, 200, back},                         // the peak: 100 + 30 + 200
                                        {released, 1, 100, {}},    {allocated, 4, 60, back}};
  const StepMemory memory = book_history(events, 5);
  EXPECT_EQ(memory.peak, 330);
  EXPECT_EQ(memory.at_peak, (BytesByPlace{{a, 100}, {b, 30}, {back, 200}}));
  EXPECT_EQ(memory.saved, (BytesByPlace{{a, 100}, {b, 30}}));
  EXPECT_EQ(memory.totals.at(b).allocated, 80);
  EXPECT_EQ(memory.totals.at(back).largest, 200);
  EXPECT_EQ(memory.own_peak.at("a"), 300);
  EXPECT_EQ(memory.own_forward_peak.at("a"), 100);
  EXPECT_DOUBLE_EQ(memory.attributed_share(), 1);
  EXPECT_EQ(book_history(events, events.size()).saved, (BytesByPlace{{b, 30}, {back, 260}}));
}

/// The frames that a snapshot would show for `context`.
std::vector<std::string> frames_of(const std::shared_ptr<c10::GatheredContext>& context) {
  const auto all = torch::symbolize({torch::getCapturedTracebackFromContext(context)});
  std::vector<std::string> frames;
  for (const auto at : all.tracebacks.at(0))
    frames.push_back(all.all_frames.at(at).filename + " " + all.all_frames.at(at).funcname);
  return frames;
}

TEST(ScopeTraceback, ScopesStandWhereAStackWould) {
  const ScopeTracker tracker;
  const auto outside = ScopeTraceback::gather();
  std::shared_ptr<c10::GatheredContext> inside;
  {
    const map::Scope outer("layer_0");
    const map::Scope inner("tri_mul_out");
    inside = ScopeTraceback::gather();
  }
  EXPECT_EQ(frames_of(inside), (std::vector<std::string>{"forward tri_mul_out", "forward layer_0"}));
  EXPECT_EQ(frames_of(outside), std::vector<std::string>{"forward (no scope)"});
  EXPECT_EQ(place_of(inside.get()), (Place{"layer_0/tri_mul_out", Phase::forward}));
  EXPECT_EQ(place_of(nullptr), Place{});
  // Others who gather tracebacks get no frames of ours.
  const std::shared_ptr<c10::GatheredContext> foreign = torch::CapturedTraceback::gather(true, false, false);
  EXPECT_TRUE(frames_of(foreign).empty());
}

/// Identity; notes where its backward runs.
struct Noting : torch::autograd::Function<Noting> {
  static inline std::vector<std::shared_ptr<c10::GatheredContext>> seen;
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& x) { return x.clone(); }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::variable_list gradients) {
    seen.push_back(ScopeTraceback::gather());
    const map::Scope again("recomputed");
    seen.push_back(ScopeTraceback::gather());
    return {gradients[0]};
  }
};

/// Backward in a thread with the state of this one, as the engine runs that of a graph on a GPU.
void backward_elsewhere(const at::Tensor& y) {
  const at::ThreadLocalState state;
  std::thread([&] {
    const at::ThreadLocalStateGuard guard(state);
    torch::autograd::backward({y}, {at::ones_like(y)});
  }).join();
}

std::vector<Place> places_seen(ScopeTracker::Reach reach) {
  Noting::seen.clear();
  const at::Tensor x = at::ones({3}).requires_grad_(true);
  const ScopeTracker tracker(reach);
  at::Tensor y;
  {
    const map::Scope scope("first");
    y = Noting::apply(x);
  }
  {
    const map::Scope scope("second");
    y = Noting::apply(y);
  }
  backward_elsewhere(y);
  std::vector<Place> places;
  for (const auto& context : Noting::seen) places.push_back(place_of(context.get()));
  return places;
}

TEST(ScopeTracker, ReachesABackwardInAnotherThread) {
  const std::vector<Place> expected{{"second", Phase::backward},
                                    {"recomputed", Phase::recompute},
                                    {"first", Phase::backward},
                                    {"recomputed", Phase::recompute}};
  EXPECT_EQ(places_seen(ScopeTracker::Reach::process), expected);
  // One that reaches its own thread alone knows nothing of it.
  for (const Place& place : places_seen(ScopeTracker::Reach::thread)) EXPECT_NE(place.phase, Phase::backward);
}

TEST(ScopeTracker, OneReachesTheWholeProcess) {
  const ScopeTracker tracker(ScopeTracker::Reach::process);
  std::string error;
  std::thread([&] {
    try {
      const ScopeTracker second(ScopeTracker::Reach::process);
    } catch (const ContractError& e) {
      error = e.what();
    }
  }).join();
  EXPECT_NE(error.find("this process has"), std::string::npos) << error;
}

}  // namespace
}  // namespace cpize::profile
