// cpize approve: the decision that manual mode waits for at a wave's boundary.
#include <fmt/core.h>

#include "commands.hpp"
#include "errors.hpp"
#include "text.hpp"
#include "waves.hpp"

namespace cpize::tool {

int approve(Tree& tree, int number, const std::string& why) {
  Wave wave;
  if (number > 0) {
    wave.number = number;
    for (const Task* t : tree.plan().ranked()) {
      if (t->wave == number && !is_approved(tree, *t)) wave.tasks.push_back(t->id);
      if (t->wave == number) number = 0;  // the wave exists
    }
    if (number > 0) throw UsageError(fmt::format("the plan has no wave {}; cpize plan shows its waves", number));
    if (wave.tasks.empty()) {
      fmt::print("wave {:02} is approved already\n", wave.number);
      return kDone;
    }
  } else {
    wave = next_unapproved(tree);
    if (wave.tasks.empty()) {
      fmt::print("nothing waits for approval\n");
      return kDone;
    }
  }
  nlohmann::json decision{{"event", "approve"}, {"wave", wave.number}, {"tasks", wave.tasks}};
  if (!why.empty()) decision["why"] = why;
  record(tree.plan().decisions, std::move(decision));
  fmt::print("approved wave {:02}: {}; cpize drive goes on\n", wave.number, join(wave.tasks, ", "));
  return kDone;
}

}  // namespace cpize::tool
