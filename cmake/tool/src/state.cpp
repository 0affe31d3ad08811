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

}  // namespace cpize::tool
