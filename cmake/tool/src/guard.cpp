#include "guard.hpp"

#include <fmt/core.h>

namespace cpize::tool {
namespace {

std::string remedy(Tree& tree, const std::string& id) {
  const Verdict& v = tree.own(id);
  if (v.kind == Verdict::kNoCode) return "write it";
  if (v.kind == Verdict::kNoInput) return "provide it";
  return fmt::format("run: cpize prove {}", id);
}

Refusal refuse(Tree& tree, const std::string& what, const Root& r) {
  return {fmt::format("{} {} is not green: {}; {}", what, r.task, r.why, remedy(tree, r.task)), r.task};
}

}  // namespace

std::optional<Refusal> guard_phase(Tree& tree, int phase) {
  if (phase < 6) return std::nullopt;
  const Plan& plan = tree.plan();
  bool proofs = false;
  for (const auto& t : plan.tasks) proofs = proofs || (t.in_scope && t.phase == 5);
  if (!proofs) {
    return Refusal{
        fmt::format("no proof of phase 5 is in scope: nothing shows that what phase {} measures is right", phase), ""};
  }
  for (const auto& [before, ids] : plan.barriers) {
    if (before > phase) break;
    for (const auto& id : ids) {
      if (const auto& r = tree.root(id))
        return refuse(tree, fmt::format("the barrier before phase {} is closed:", before), *r);
    }
  }
  // the barrier's list holds ends of chains; that it covers every earlier phase is checked again here, not believed
  for (const Task* t : plan.ranked()) {
    if (t->phase >= phase) continue;
    if (const auto& r = tree.root(t->id))
      return refuse(tree, fmt::format("the barrier before phase {} is closed:", phase), *r);
  }
  return std::nullopt;
}

std::optional<Refusal> guard(Tree& tree, const std::string& id) {
  const Task& t = tree.plan().at(id);
  for (const auto& d : t.implicit) {
    if (!tree.plan().at(d).in_scope) continue;
    if (const auto& r = tree.root(d)) return refuse(tree, "the gate", *r);
  }
  for (const auto& d : t.depends) {
    if (const auto& r = tree.root(d))
      return refuse(tree, r->task == d ? "its producer" : fmt::format("behind its producer {},", d), *r);
  }
  return guard_phase(tree, t.phase);
}

std::optional<Refusal> guard_ladder(Tree& tree, const std::string& id) {
  if (auto r = guard(tree, id)) return r;
  const Task& t = tree.plan().at(id);
  for (const Task* earlier : tree.plan().ranked()) {
    if (earlier->phase >= t.phase) continue;
    if (const auto& r = tree.root(earlier->id))
      return refuse(tree, fmt::format("phase {} is not finished:", earlier->phase), *r);
  }
  return std::nullopt;
}

}  // namespace cpize::tool
