#include "on_red.hpp"

#include <fmt/core.h>

#include <cstdlib>

#include "child.hpp"
#include "text.hpp"

namespace cpize::tool {
namespace {

// what was measured at this key: the details if there are any, else the summary's place in a store without it
fs::path evidence_file(Tree& tree, const std::string& id, const std::string& key) {
  const fs::path summary = tree.store().summary_file(id, key, this_machine());
  std::error_code e;
  return fs::exists(summary, e) ? summary : fs::path();
}

fs::path task_log(const Plan& plan, const std::string& id, const std::string& why) {
  const bool build = why.find("does not build") != std::string::npos;
  const fs::path log = plan.logs() / (id + (build ? ".build.log" : ".log"));
  std::error_code e;
  return fs::exists(log, e) ? log : fs::path();
}

}  // namespace

std::string command_for(const OnRed& on_red, const Plan& plan, const Task& task) {
  const std::string name = fmt::format("CPIZE_DELEGATE_{}", task.phase);
  if (const char* value = std::getenv(name.c_str()); value && *value) return value;
  const auto delegate = plan.delegates.find(task.phase);
  return delegate != plan.delegates.end() && !delegate->second.empty() ? delegate->second : on_red.command;
}

Called call_on_red(Tree& tree, const std::string& id, const std::string& command, const OnRed& on_red, int round) {
  const Plan& plan = tree.plan();
  const Task t = plan.at(id);  // a copy: the plan is read again below
  const std::string key = tree.keys().of(id).id, why = tree.own(id).why;
  const fs::path evidence = evidence_file(tree, id, key);
  const fs::path log = plan.logs() / fmt::format("{}.on-red.{}.log", id, round);
  ChildSpec child{{"/bin/sh", "-c", command + " \"$@\"", "cpize-on-red", id, evidence.string()},
                  log,
                  plan.source,
                  {{"CPIZE_TASK", id},
                   {"CPIZE_PHASE", std::to_string(t.phase)},
                   {"CPIZE_KEY", key},
                   {"CPIZE_WHY", why},
                   {"CPIZE_EVIDENCE", evidence.string()},
                   {"CPIZE_LOG", task_log(plan, id, why).string()},
                   {"CPIZE_DELEGATE", t.delegate},
                   {"CPIZE_ROUND", std::to_string(round)},
                   {"CPIZE_ROUNDS", std::to_string(on_red.rounds)},
                   {"CPIZE_PLAN", plan.file.string()},
                   {"CPIZE_BUILD_DIR", plan.build.string()}},
                  on_red.timeout};
  record(plan.log(), {{"event", "on_red"}, {"task", id}, {"key", key}, {"round", round}, {"command", command}});
  const ChildResult r = run_child(child);

  Called called;
  std::string configure;
  if (const std::string input = plan.newer_input(); !input.empty()) {
    const fs::path configure_log = plan.logs() / "drive.configure.log";
    const ChildResult c = run_child({{plan.cmake, plan.build.string()}, configure_log, plan.build, {}, 0});
    called.configured = c.ok();
    configure = fmt::format("; {} changed: configure {}", input, c.ok() ? "done" : c.text);
  }
  if (called.configured) {
    tree.refresh();
    called.changed = !tree.plan().has(id) || tree.keys().of(id).id != key;
  }
  called.text = fmt::format(
      "{}: on-red {} of {}: the command {} after {:.1f} s{}{}", id, round, on_red.rounds, r.text, r.seconds, configure,
      called.changed ? "; its key changed, it is proved again" : "; its key is the same, it stays red");
  record(tree.plan().log(), {{"event", "on_red_end"},
                             {"task", id},
                             {"round", round},
                             {"exit", r.exit},
                             {"signal", r.signal},
                             {"timed_out", r.timed_out},
                             {"seconds", r.seconds},
                             {"log", plan.portable(log.string())},
                             {"changed", called.changed}});
  return called;
}

}  // namespace cpize::tool
