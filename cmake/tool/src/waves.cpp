#include "waves.hpp"

#include <fmt/core.h>

#include "guard.hpp"
#include "mode.hpp"

namespace cpize::tool {

Wave next_wave(Tree& tree, const std::function<bool(const Task&)>& skip) {
  Wave wave;
  for (const Task* t : tree.plan().ranked()) {
    if (!wave.tasks.empty() && t->wave != wave.number) break;
    const Verdict& v = tree.own(t->id);
    if (v.green() || v.kind == Verdict::kNoCode || v.kind == Verdict::kNoInput) continue;
    if (skip(*t) || guard_ladder(tree, t->id)) continue;
    wave.number = t->wave;
    wave.tasks.push_back(t->id);
  }
  return wave;
}

bool is_approved(Tree& tree, const Task& task) {
  const auto ranked = tree.plan().ranked();
  const bool first = !ranked.empty() && task.wave == ranked.front()->wave;
  return first || tree.decisions().approved.contains(task.id);
}

Wave next_unapproved(Tree& tree) {
  return next_wave(tree, [&](const Task& t) { return is_approved(tree, t); });
}

bool awaits_approval(Tree& tree, const Task& t) {
  if (mode_now(tree) != "manual" || is_approved(tree, t)) return false;
  const Verdict& v = tree.own(t.id);
  const bool measurable = v.kind == Verdict::kNever || v.kind == Verdict::kMissing || v.kind == Verdict::kStale;
  return measurable && !guard_ladder(tree, t.id);
}

std::string in_words(const Task& task) {
  return fmt::format("{} ({}, risk {}{})", task.id, task.kind.empty() ? "adapt" : task.kind,
                     task.risk.empty() ? "low" : task.risk, task.risk_reason.empty() ? "" : ": " + task.risk_reason);
}

}  // namespace cpize::tool
