// The command line of cpize.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "child.hpp"
#include "collected.hpp"
#include "commands.hpp"
#include "errors.hpp"

namespace {

using namespace cpize::tool;

// a mode may be said as a word, as CPIZE_ARGUMENTS does, or as an option
std::string mode_of(const std::vector<std::string>& words, bool manual, bool automatic) {
  for (const auto& w : words) {
    if (w == "manual" || w == "manual-approve") {
      manual = true;
    } else if (w == "automatic" || w == "auto") {
      automatic = true;
    } else if (w != "resume") {
      throw UsageError(fmt::format("drive does not know the mode '{}'; modes: automatic, manual, resume", w));
    }
  }
  if (manual && automatic) throw UsageError("drive is either automatic or manual, not both");
  return manual ? "manual" : automatic ? "automatic" : "";
}

int run(int argc, char** argv) {
  CLI::App app{
      "cpize: drives a context-parallel port by evidence. Exit codes: 0 done, 1 failed or red, 2 bad usage or "
      "input, 3 critical blocker, 4 awaiting approval."};
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", "cpize " CPIZE_VERSION);
  std::string plan, task, why, kind;
  int before = 0, take = 0, wave = 0;
  bool verify = false, update = false, manual = false, automatic = false, publish_pages = false, collect = false;
  DriveOptions drive_options;
  std::vector<std::string> modes, command, seams, cells;
  app.add_option("--plan", plan, "the plan file or its build directory; default: here, or build/");
  std::function<int()> action;
  const auto tree_command = [&](CLI::App* sub, std::function<int(Tree&)> f) {
    sub->callback([&action, &plan, f = std::move(f)] {
      action = [&plan, f] {
        Tree tree(find_plan(plan));
        return f(tree);
      };
    });
    return sub;
  };

  auto* c = tree_command(app.add_subcommand("plan", "waves and order as a table"),
                         [&](Tree& t) { return verify ? verify_plan(t.plan()) : show_plan(t); });
  c->add_flag("--verify", verify, "compute the order a second time, independently, and compare");
  tree_command(app.add_subcommand("status", "the state of every task"), show_status);
  c = tree_command(app.add_subcommand("prove", "measure a task, unless fresh evidence says it is green"),
                   [&](Tree& t) { return prove(t, task, cells); });
  c->add_option("task", task)->required();
  c->add_option("--cell", cells, "measure this cell as well, which the task does not require; may be repeated");
  c = tree_command(app.add_subcommand("gate", "judge existing evidence; measures nothing"), [&](Tree& t) {
    if (before == 0) return gate(t, task);
    if (!task.empty()) throw UsageError("gate takes a task or --before, not both");
    return gate_before(t, before);
  });
  c->add_option("task", task, "one task; default: all in scope");
  c->add_option("--before", before, "everything before this phase");
  c = tree_command(app.add_subcommand("key", "what a task's key holds and what changed"),
                   [&](Tree& t) { return show_key(t, task); });
  c->add_option("task", task);
  c = tree_command(app.add_subcommand("evidence", "where the evidence of each required cell comes from"), [&](Tree& t) {
    if (collect && !task.empty()) throw UsageError("evidence --collect takes no task");
    return collect ? collect_evidence(t) : show_evidence(t, task);
  });
  c->add_option("task", task, "one task; default: all in scope");
  c->add_flag("--collect", collect, "copy this machine's evidence of cells on GPUs into the sources");
  tree_command(app.add_subcommand("ledger", "write docs/cp_integration_plan.md into the build tree"), write_ledger);
  c = tree_command(app.add_subcommand("reopen", "make a task, or both ends of an edge a->b, stale"),
                   [&](Tree& t) { return reopen(t, seams, why); });
  c->add_option("what", seams, "tasks and edges")->required();
  c->add_option("--why", why)->required();
  c = tree_command(app.add_subcommand("lock", "compare the serial tree with its lock file"), [&](Tree& t) {
    if (!update && !why.empty()) throw UsageError("lock --why goes with --update");
    return update ? update_lock(t, why) : check_lock(t);
  });
  c->add_flag("--update", update, "lock the tree as it is now");
  c->add_option("--why", why);
  c = tree_command(app.add_subcommand("approve", "let a manual drive prove its next wave"),
                   [&](Tree& t) { return approve(t, wave, why); });
  c->add_option("--wave", wave, "this wave, ahead of its turn; default: the one that waits")
      ->check(CLI::PositiveNumber);
  c->add_option("--why", why);
  c = tree_command(app.add_subcommand("report", "evidence, figures, and what is still open"),
                   [&](Tree& t) { return report(t, publish_pages); });
  c->add_flag("--publish", publish_pages, "copy the generated pages from the build tree into docs/");
  c = tree_command(app.add_subcommand("scaffold", "write the first files of a declared port or feature"),
                   [&](Tree& t) { return scaffold(t, task, kind); });
  c->add_option("task", task)->required();
  c->add_option("--kind", kind, "what it is; default: by its phase")->check(CLI::IsMember({"port", "feature"}));
  for (const char* name : {"drive", "resume"}) {
    c = app.add_subcommand(name, std::string(name) == "drive" ? "prove everything, wave by wave" : "the same as drive");
    c->add_option("mode", modes, "automatic, manual, resume");
    c->add_option("-j,--jobs", drive_options.jobs, "tests at once; default: processors")->check(CLI::NonNegativeNumber);
    c->add_flag("-q,--quiet", drive_options.quiet, "only the end");
    c->add_flag("--automatic,--auto", automatic, "go on without asking (the default)");
    c->add_flag("--manual,--manual-approve", manual, "stop before each wave until it is approved");
    c->add_option("--on-red", drive_options.on_red.command, "called with a red task and its evidence");
    c->add_option("--on-red-rounds", drive_options.on_red.rounds, "calls for one task; default 3")
        ->check(CLI::NonNegativeNumber);
    c->add_option("--on-red-timeout", drive_options.on_red.timeout, "seconds for one call; default 3600, 0: none")
        ->check(CLI::NonNegativeNumber);
    c->callback([&] {
      action = [&] {
        drive_options.mode = mode_of(modes, manual, automatic);
        return drive(find_plan(plan), drive_options);
      };
    });
  }
  c = app.add_subcommand("gpus", "the GPUs that are here, and who holds them");
  c->add_option("--take", take, "run the command with this many neighbouring free GPUs, waiting for them")
      ->check(CLI::PositiveNumber);
  c->add_option("command", command, "after --");
  c->callback([&] {
    action = [&] {
      if (take == 0 && !command.empty()) throw UsageError("gpus takes a command only with --take N");
      return take > 0 ? run_with_gpus(take, command) : show_gpus();
    };
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kDone : kUsage;
  }
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    die_with_ctest();
    return run(argc, argv);
  } catch (const ToolError& e) {
    fmt::print(stderr, "cpize: {}\n", e.what());
    return e.code();
  } catch (const std::exception& e) {
    fmt::print(stderr, "cpize: {}\n", e.what());
    return kFailed;
  }
}
