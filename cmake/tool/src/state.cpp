#include "state.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "locks.hpp"
#include "text.hpp"
#include "waves.hpp"

namespace cpize::tool {

State state_of(Tree& tree, const Task& t) {
  if (!t.in_scope) return {"out-of-scope", ""};
  if (in_flight(tree.plan(), t.id)) return {"in_flight", "being measured"};
  const Verdict& v = tree.own(t.id);
  if (awaits_approval(tree, t)) return {"blocked", fmt::format("wave {} awaits approval; {}", t.wave, v.why)};
  switch (v.kind) {
    case Verdict::kNoCode:
    case Verdict::kNever:
      return {"todo", v.why};
    case Verdict::kNoInput:
      return {"blocked", v.why};
    case Verdict::kMissing:
    case Verdict::kStale:
    case Verdict::kRed:
      return {"dirty", v.why};
    case Verdict::kGreen:
      break;
  }
  if (const auto& r = tree.root(t.id)) return {"dirty", fmt::format("behind {}: {}", r->task, r->why)};
  return {"done", ""};
}

std::string proof_of(const Verdict& verdict) {
  const Worst* worst = nullptr;
  const auto ratio = [](const Worst& w) { return w.tolerance > 0 ? w.difference / w.tolerance : 0.0; };
  for (const auto& [name, c] : verdict.cells) {
    if (c.judgement.worst && (!worst || ratio(*c.judgement.worst) > ratio(*worst))) worst = &*c.judgement.worst;
  }
  std::string text = fmt::format("{} cell{}", verdict.cells.size(), verdict.cells.size() == 1 ? "" : "s");
  if (worst && worst->tolerance == 0) text += ", equal bit for bit";
  if (worst && worst->tolerance > 0)
    text += fmt::format(", worst difference {:.1e} of {:.1e} allowed", worst->difference, worst->tolerance);
  if (const std::string absent = absent_cells(verdict); !absent.empty()) text += "; " + absent;
  return text;
}

std::string absent_cells(const Verdict& verdict) {
  if (verdict.absent.empty()) return "";
  std::vector<std::string> reasons;
  for (const auto& [name, why] : verdict.absent)
    if (std::ranges::find(reasons, why) == reasons.end()) reasons.push_back(why);
  std::string text = fmt::format("{} not measurable here ({})", verdict.absent.size(), join(reasons, "; "));
  if (!verdict.stale_absent.empty()) text += fmt::format(", {} of them stale", verdict.stale_absent.size());
  return text;
}

}  // namespace cpize::tool
