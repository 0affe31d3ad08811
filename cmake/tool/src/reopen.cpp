// cpize reopen: a new epoch makes a task's evidence stale even without an edit, and withdraws its approval.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "commands.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace cpize::tool {
namespace {

// "a" or "a->b", a producer and its consumer: what is wrong with a seam may be wrong on either side
std::vector<std::string> tasks_of(const Plan& plan, const std::string& what) {
  const std::size_t arrow = what.find("->");
  if (arrow == std::string::npos) return {plan.at(what).id};
  const std::string producer = what.substr(0, arrow), consumer = what.substr(arrow + 2);
  const Task& c = plan.at(consumer);
  plan.at(producer);
  if (std::ranges::find(c.depends, producer) == c.depends.end()) {
    throw UsageError(fmt::format("there is no edge {}: {} depends on {}", what, consumer,
                                 c.depends.empty() ? "nothing" : join(c.depends, ", ")));
  }
  return {producer, consumer};
}

std::size_t count_downstream(const Plan& plan, const std::vector<std::string>& tasks) {
  std::set<std::string> reached(tasks.begin(), tasks.end());
  for (bool grows = true; grows;) {
    grows = false;
    for (const Task* t : plan.ranked()) {
      const bool behind = std::ranges::any_of(t->depends, [&](const auto& d) { return reached.contains(d); });
      if (behind && reached.insert(t->id).second) grows = true;
    }
  }
  return reached.size() - tasks.size();
}

}  // namespace

int reopen(Tree& tree, const std::vector<std::string>& what, const std::string& why) {
  if (why.find_first_not_of(" \t\n") == std::string::npos) throw UsageError("reopen needs a reason: --why TEXT");
  for (const auto& w : what) tasks_of(tree.plan(), w);  // all of it is understood before any of it is recorded
  for (const auto& w : what) {
    const auto tasks = tasks_of(tree.plan(), w);
    nlohmann::json decision{{"event", "reopen"}, {"tasks", tasks}, {"why", why}};
    if (tasks.size() == 2) decision["seam"] = w;
    record(tree.plan().decisions, std::move(decision));
    fmt::print("reopened {}: {}; {} more stand on it\n", join(tasks, " and "), why,
               count_downstream(tree.plan(), tasks));
  }
  return kDone;
}

}  // namespace cpize::tool
