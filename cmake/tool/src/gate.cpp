// cpize gate: the judgement of `prove`, read-only.
#include <fmt/core.h>

#include <set>

#include "commands.hpp"
#include "errors.hpp"
#include "guard.hpp"

namespace cpize::tool {
namespace {

std::string fault(Tree& tree, const std::string& id) {
  if (const Verdict& v = tree.own(id); !v.green()) return v.why;
  const auto refusal = guard(tree, id);
  return refusal ? refusal->why : "";
}

// cells that were measured under different compilers, torch builds or programs: allowed, but shown
void show_differences(Tree& tree, const std::string& id) {
  std::map<std::string, std::set<std::string>> values;
  for (const auto& [name, c] : tree.own(id).cells) {
    values["machine"].insert(c.run.machine);
    for (const auto& [k, v] : c.run.facts) values[k].insert(v);
  }
  for (const auto& [k, v] : values) {
    if (v.size() > 1)
      fmt::print("  note: the cells differ in {}: {}\n", k, fmt::format("{} and {}", *v.begin(), *v.rbegin()));
  }
}

bool too_old(Tree& tree) {
  const std::string input = tree.plan().newer_input();
  if (!input.empty()) fmt::print("GATE RED: the plan is older than {}: configure first\n", input);
  return !input.empty();
}

}  // namespace

int gate(Tree& tree, const std::string& id) {
  if (!id.empty() && !tree.plan().at(id).in_scope) throw UsageError(fmt::format("{} is out of scope of this plan", id));
  if (too_old(tree)) return kFailed;
  int bad = 0, all = 0;
  for (const Task* t : tree.plan().ranked()) {
    if (!id.empty() && t->id != id) continue;
    ++all;
    if (const std::string why = fault(tree, t->id); !why.empty()) {
      fmt::print("GATE RED {}: {}\n", t->id, why);
      ++bad;
    } else if (!id.empty()) {
      fmt::print("gate green {} (key {})\n", t->id, tree.keys().of(t->id).id.substr(0, 12));
      const Verdict& v = tree.own(t->id);
      for (const auto& [name, lacks] : v.absent)
        fmt::print("  {}: {}not measurable here: {}\n", name, v.stale_absent.contains(name) ? "stale, " : "", lacks);
      show_differences(tree, t->id);
    }
  }
  if (id.empty()) fmt::print("{} of {} gates green\n", all - bad, all);
  return bad == 0 ? kDone : kFailed;
}

int gate_before(Tree& tree, int phase) {
  if (phase < 1 || phase > 7) throw UsageError("--before takes a phase from 1 to 7");
  if (too_old(tree)) return kFailed;
  auto refusal = guard_phase(tree, phase);
  for (const Task* t : tree.plan().ranked()) {
    if (refusal || t->phase >= phase) break;
    if (const auto& r = tree.root(t->id)) {
      refusal = Refusal{fmt::format("{} is not green: {}; run: cpize prove {}", r->task, r->why, r->task), r->task};
    }
  }
  if (!refusal) {
    fmt::print("everything before phase {} is green\n", phase);
    return kDone;
  }
  fmt::print("GATE RED before phase {}: {}\n", phase, refusal->why);
  return kFailed;
}

}  // namespace cpize::tool
