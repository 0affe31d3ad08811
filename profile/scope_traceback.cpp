#include "profile/scope_traceback.hpp"

#include <mutex>
#include <set>

namespace cpize::profile {
namespace {

thread_local bool gathering = false;

/// Gives scopes in the place of an interpreter's frames: the one part of a traceback that libtorch lets others supply.
class ScopeFrames : public torch::CapturedTraceback::Python {
 public:
  /// Registered once; never removed, since tracebacks may outlive everything else.
  static void install() {
    static ScopeFrames* const frames = [] {
      auto* made = new ScopeFrames;
      torch::CapturedTraceback::addPythonUnwinder(made);
      return made;
    }();
    static_cast<void>(frames);
  }

  bool canGather() override { return gathering; }

  std::vector<torch::CapturedTraceback::PyFrame> gather() override {
    const Place here = ScopeTracker::of_this_thread();
    const std::lock_guard lock(mutex_);
    return {{const_cast<Place*>(&*places_.insert(here).first), 0}};
  }
  void release(std::vector<torch::CapturedTraceback::PyFrame>&) override {}

  void appendSymbolized(const std::vector<torch::CapturedTraceback::PyFrame>& places,
                        torch::SymbolizedTracebacks& result) override {
    for (const auto& frame : places) {
      const Place& place = *static_cast<const Place*>(frame.code);
      result.tracebacks.emplace_back();
      const auto add = [&](const std::string& name) {
        result.tracebacks.back().push_back(result.all_frames.size());
        result.all_frames.push_back({std::string(name_of(place.phase)), name, 0});
      };
      std::string rest = place.path.empty() ? "(no scope)" : place.path;
      for (auto cut = rest.rfind('/'); cut != std::string::npos; cut = rest.rfind('/')) {
        add(rest.substr(cut + 1));
        rest.resize(cut);
      }
      add(rest);
    }
  }

  int traverse(std::vector<torch::CapturedTraceback::PyFrame>&, torch::CapturedTraceback::visitproc, void*) override {
    return 0;
  }
  int clear(std::vector<torch::CapturedTraceback::PyFrame>&) override { return 0; }

 private:
  std::mutex mutex_;
  std::set<Place> places_;  // a node's address stays
};

}  // namespace

std::shared_ptr<c10::GatheredContext> ScopeTraceback::gather() {
  ScopeFrames::install();
  gathering = true;  // only here: other users of libtorch's tracebacks see no frames of ours
  auto frames = torch::CapturedTraceback::gather(true, false, false);
  gathering = false;
  return std::make_shared<ScopeTraceback>(std::move(*frames), ScopeTracker::of_this_thread());
}

Place place_of(const c10::GatheredContext* context) {
  const auto* traceback = dynamic_cast<const ScopeTraceback*>(context);
  return traceback ? traceback->place() : Place{};
}

}  // namespace cpize::profile
