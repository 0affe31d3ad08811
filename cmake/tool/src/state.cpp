#include "state.hpp"

#include <fmt/core.h>

#include "locks.hpp"

namespace cpize::tool {

State state_of(Tree& tree, const Task& t) {
  if (!t.in_scope) return {"out-of-scope", ""};
  if (in_flight(tree.plan(), t.id)) return {"in_flight", "being measured"};
  const Verdict& v = tree.own(t.id);
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
  return text;
}

}  // namespace cpize::tool
