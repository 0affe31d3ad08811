// cpize reopen: a new epoch makes a task's evidence stale even without an edit.
#include <fmt/core.h>

#include <algorithm>

#include "commands.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace cpize::tool {

int reopen(Tree& tree, const std::string& what, const std::string& why) {
  if (why.find_first_not_of(" \t\n") == std::string::npos) throw UsageError("reopen needs a reason: --why TEXT");
  std::vector<std::string> tasks{what};
  if (const std::size_t arrow = what.find("->"); arrow != std::string::npos) {
    tasks = {what.substr(0, arrow), what.substr(arrow + 2)};
    const Task& consumer = tree.plan().at(tasks[1]);
    tree.plan().at(tasks[0]);
    if (std::ranges::find(consumer.depends, tasks[0]) == consumer.depends.end()) {
      throw UsageError(fmt::format("there is no edge {}: {} depends on {}", what, tasks[1],
                                   consumer.depends.empty() ? "nothing" : join(consumer.depends, ", ")));
    }
  }
  for (const auto& t : tasks) tree.plan().at(t);
  record(tree.plan().decisions, {{"event", "reopen"}, {"tasks", tasks}, {"why", why}});
  fmt::print("reopened {}: {}\n", join(tasks, " and "), why);
  return kDone;
}

}  // namespace cpize::tool
