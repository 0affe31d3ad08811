// cpize plan, status and key: tables for people.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "commands.hpp"
#include "errors.hpp"
#include "state.hpp"
#include "text.hpp"

namespace cpize::tool {
namespace {

constexpr std::size_t kLine = 120;     // of ids, before they go on in another line
constexpr std::size_t kFewTasks = 20;  // out of scope: so many still have a line of their own in the status

std::size_t id_width(const Plan& plan) {
  std::size_t w = 4;
  for (const auto& t : plan.tasks) w = std::max(w, t.id.size());
  return w;
}

std::string mesh_text(const Plan& p) {
  std::vector<std::string> cp;
  for (const int c : p.cp) cp.push_back(std::to_string(c));
  return fmt::format("dp {} x cp ({}), world {}", p.dp, join(cp, ","), p.world);
}

// "todo" tasks have no code; a focus leaves out others too
void show_rest(const Plan& plan) {
  std::map<std::pair<int, std::string>, std::vector<std::string>> rest;  // (phase, subsystem) -> ids
  std::size_t count = 0, todo = 0;
  for (const Task& t : plan.tasks) {
    if (t.in_scope) continue;
    rest[{t.phase, t.subsystem}].push_back(t.id);
    ++count;
    if (t.verb.empty()) ++todo;
  }
  if (count == 0) return;
  fmt::print("\nout-of-scope: {} tasks, {} of them without code\n", count, todo);
  for (const auto& [group, ids] : rest) {
    std::string line;
    for (const std::string& id : ids) {
      if (!line.empty() && line.size() + id.size() > kLine) {
        fmt::print("  phase {}  {:<11} {}\n", group.first, group.second, line);
        line.clear();
      }
      line += (line.empty() ? "" : " ") + id;
    }
    fmt::print("  phase {}  {:<11} {}\n", group.first, group.second, line);
  }
}

}  // namespace

int show_plan(Tree& tree) {
  const Plan& plan = tree.plan();
  const auto tasks = plan.ranked();
  fmt::print("plan {}: {} of {} tasks in scope, {}, mesh {}\n", plan.name, tasks.size(), plan.tasks.size(),
             plan.focus.empty() ? "whole model" : "focus " + join(plan.focus, " "), mesh_text(plan));
  std::map<int, int> width;
  for (const Task* t : tasks) ++width[t->wave];
  const std::size_t w = id_width(plan);
  int wave = 0;
  for (const Task* t : tasks) {
    if (t->wave != wave) {
      wave = t->wave;
      fmt::print("\nwave {:02}  phase {}  {}\n", wave, t->phase,
                 width[wave] >= 3 ? fmt::format("fan-out: {} independent tasks", width[wave])
                                  : fmt::format("{} task{}", width[wave], width[wave] == 1 ? "" : "s"));
    }
    fmt::print("  {:>3}  {:<{}}  {:<11} {:<5} {:<6}  fan-in {:>3}  direct {:>2}  chain {:>2}  needs {}\n", t->rank,
               t->id, w, t->subsystem, t->kind, t->risk, t->fan_in, t->direct, t->chain,
               t->depends.empty() ? "-" : join(t->depends, " "));
  }
  show_rest(plan);
  return kDone;
}

int show_status(Tree& tree) {
  const Plan& plan = tree.plan();
  const std::size_t w = id_width(plan);
  if (const std::string input = plan.newer_input(); !input.empty()) {
    fmt::print("the plan is older than {}: configure first\n", input);
  }
  std::map<std::string, int> count;
  fmt::print("rank wave phase {:<{}}  {:<12} proof, or why not\n", "task", w, "state");
  const bool few = plan.tasks.size() - plan.ranked().size() <= kFewTasks;
  for (const Task* t : plan.ranked(true)) {
    const State s = state_of(tree, *t);
    ++count[s.name];
    if (!t->in_scope && !few) continue;  // `cpize plan` names them
    const std::string why = s.name == "done" ? proof_of(tree.own(t->id)) : s.why;
    fmt::print("{:>4} {:>4} {:>5} {:<{}}  {}\n", t->rank, t->wave, t->phase, t->id, w,
               why.empty() ? s.name : fmt::format("{:<12} {}", s.name, why));
  }
  std::string summary;
  for (const char* name : {"done", "in_flight", "dirty", "todo", "blocked", "out-of-scope"}) {
    if (count[name] > 0) summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", count[name], name);
  }
  fmt::print("{}\n", summary);
  return kDone;
}

int show_key(Tree& tree, const std::string& id) {
  if (id.empty()) {
    for (const Task* t : tree.plan().ranked()) fmt::print("{}  {}\n", tree.keys().of(t->id).id, t->id);
    return kDone;
  }
  const Key& k = tree.keys().of(id);
  const auto in = tree.keys().inputs(id);
  fmt::print("{}  {}\n", k.id, id);
  for (const auto& [name, value] : in) {
    fmt::print("  {} = {}\n", name,
               value.size() >= 32 && value.find(' ') == std::string::npos ? value.substr(0, 12)
                                                                          : replace_all(value, "\n", " "));
  }
  for (const auto& m : k.macros) fmt::print("  not followed: {}\n", m);
  const auto old = tree.store().newest_inputs(id);
  if (!old) {
    fmt::print("no evidence yet\n");
  } else {
    int changes = 0;
    const auto change = [&](const std::string& name, const char* what) {
      if (changes++ == 0) fmt::print("since the newest evidence:\n");
      fmt::print("  {} {}\n", what, name);
    };
    for (const auto& [name, value] : in) {
      const auto it = old->find(name);
      if (it == old->end()) change(name, "new    ");
      if (it != old->end() && it->second != value) change(name, "changed");
    }
    for (const auto& [name, value] : *old) {
      if (!in.contains(name)) change(name, "gone   ");
    }
    if (changes == 0) fmt::print("unchanged since the newest evidence\n");
  }
  const Verdict& v = tree.own(id);
  fmt::print("own evidence: {}\n", v.green() ? "green" : v.why);
  for (const auto& [name, c] : v.cells) {
    std::string facts;
    for (const auto& [f, value] : c.run.facts) facts += fmt::format(", {} {}", f, value);
    fmt::print("  {}: {} on machine {}{}\n", name, c.run.when, c.run.machine, facts);
  }
  return kDone;
}

}  // namespace cpize::tool
