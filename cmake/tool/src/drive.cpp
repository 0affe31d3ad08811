// cpize drive: the next ready wave, built at once, proved by ctest, written down; then the next.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <thread>

#include "build.hpp"
#include "child.hpp"
#include "commands.hpp"
#include "errors.hpp"
#include "guard.hpp"
#include "ledger.hpp"
#include "locks.hpp"
#include "mode.hpp"
#include "report.hpp"
#include "slots.hpp"
#include "text.hpp"
#include "waves.hpp"

namespace cpize::tool {
namespace {

using nlohmann::json;

constexpr int kAttempts = 5;               // of one task in one drive, when its key keeps changing under us
constexpr std::size_t kTestsAtOnce = 150;  // in one regular expression for ctest

class Driver {
 public:
  Driver(Tree& tree, DriveOptions options) : tree_(tree), options_(options) {}

  int run() {
    check_blockers();
    manual_ = settle_mode(tree_, options_.mode) == "manual";
    log({{"event", "drive"}, {"mode", manual_ ? "manual" : "automatic"}, {"green", green_keys(tree_)}});
    for (;;) {
      tree_.refresh();
      if (const std::string input = tree_.plan().newer_input(); !input.empty()) {
        return end(kFailed, fmt::format("the plan is older than {}: configure first", input));
      }
      Wave wave = next_wave(tree_, [&](const Task& t) { return has_nothing_new(t); });
      if (wave.tasks.empty()) break;
      if (manual_) {
        const Wave whole = wave;
        std::erase_if(wave.tasks, [&](const std::string& id) { return !is_approved(tree_, tree_.plan().at(id)); });
        if (wave.tasks.empty()) return stop_before(whole);
      }
      wave_ = wave.number;
      build(wave.tasks);
      test(wave.tasks);
      account(wave.tasks);
      if (!call_for_help(wave.tasks))
        return end(kFailed, "the plan cannot be configured: cpize-logs/drive.configure.log");
    }
    return finish();
  }

 private:
  void say(const std::string& line) const {
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }
  void log(json entry) const { record(tree_.plan().log(), std::move(entry)); }
  int end(int code, const std::string& line) const {
    say(line);
    log({{"event", "end"}, {"exit", code}, {"why", line}});
    return code;
  }

  // critical: nothing that drive could do would help
  void check_blockers() {
    const Plan& p = tree_.plan();
    std::error_code e;
    if (!p.serial_tree.empty() && !fs::is_directory(p.serial_tree, e)) {
      throw Blocker(fmt::format("the serial tree {} is missing", p.portable(p.serial_tree.string())));
    }
    for (const std::string& place : {p.data, p.model, p.ref}) {
      if (place.starts_with("/") && !fs::exists(place, e))
        throw Blocker(fmt::format("{} is missing", p.portable(place)));
    }
    if (p.backend == "nccl" && gpus_here() < gpus_for(p.world)) {
      throw Blocker(fmt::format("the plan's world is {} ranks over NCCL, which need {} GPUs, and here: {}", p.world,
                                gpus_for(p.world), gpus_in_words()));
    }
    for (const std::string& tool : {p.cmake, p.ctest}) {
      if (::access(tool.c_str(), X_OK) != 0) throw Blocker(fmt::format("{} cannot be run", tool));
    }
  }

  // a task that is red at its key has nothing new to tell
  bool has_nothing_new(const Task& t) {
    const auto done = tried_.find(t.id);
    if (done == tried_.end()) return false;
    return done->second == tree_.keys().of(t.id).id || attempts_[t.id] >= kAttempts + options_.on_red.rounds;
  }

  // what fails here is built again, alone, by the task's own proof, which then says why
  void build(const std::vector<std::string>& ids) {
    std::set<std::string> targets;
    for (const auto& id : ids) {
      if (const Task& t = tree_.plan().at(id); !t.target.empty()) targets.insert(t.target);
    }
    if (targets.empty()) return;
    Lock lock(build_lock(tree_.plan()), true);
    lock.take();
    for (const auto& id : ids) {
      if (const Task& t = tree_.plan().at(id); !t.target.empty())
        refresh_time_stamps(tree_.keys().source_files(id), t.command[0]);
    }
    build_targets(tree_.plan(), {targets.begin(), targets.end()}, tree_.plan().logs() / "drive.build.log", true);
  }

  void test(const std::vector<std::string>& ids) {
    const Plan& p = tree_.plan();
    const int jobs =
        options_.jobs > 0 ? options_.jobs : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    for (std::size_t b = 0; b < ids.size(); b += kTestsAtOnce) {
      std::string names;
      for (std::size_t i = b; i < std::min(ids.size(), b + kTestsAtOnce); ++i) {
        std::string id;
        for (const char c : ids[i])
          id += std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' ? std::string(1, c)
                                                                                    : fmt::format("[{}]", c);
        names += (names.empty() ? "" : "|") + id;
      }
      // fixtures off: the wave's producers are green already, and each test's own guard checks that
      ChildSpec child{{p.ctest, "--test-dir", p.build.string(), "-R", "^(" + names + ")$", "-FA", ".*", "-j",
                       std::to_string(jobs), "--no-tests=error", "--output-on-failure"},
                      p.logs() / "drive.ctest.log",
                      p.build,
                      {},
                      0};
      if (p.multi) {
        child.command.emplace_back("-C");
        child.command.push_back(p.config);
      }
      if (const auto r = run_child(child); r.not_started) throw Blocker("ctest " + r.text);
    }
  }

  void account(const std::vector<std::string>& ids) {
    tree_.refresh();
    std::vector<std::string> red;
    for (const auto& id : ids) {
      if (!tree_.plan().has(id)) continue;  // configured again meanwhile
      tried_[id] = tree_.keys().of(id).id;
      ++attempts_[id];
      if (const Verdict& v = tree_.own(id); !v.green()) {
        red.push_back(id);
        log({{"event", "red"}, {"task", id}, {"key", tried_[id]}, {"why", v.why}});
      }
    }
    log({{"event", "wave"}, {"wave", wave_}, {"tasks", ids}, {"red", red}});
    update_ledger(tree_);
    if (options_.quiet) return;
    std::size_t green = 0, all = 0;
    for (const Task* t : tree_.plan().ranked()) ++all, green += tree_.own(t->id).green() ? 1 : 0;
    say(fmt::format("wave {:02}: {} of {} green{}; {} of {} tasks done", wave_, ids.size() - red.size(), ids.size(),
                    red.empty() ? "" : fmt::format(", red: {}", join(red, ", ")), green, all));
  }

  // red tasks that somebody may repair meanwhile; false: the repair left a plan that cannot be configured
  bool call_for_help(const std::vector<std::string>& ids) {
    for (const auto& id : ids) {
      if (!tree_.plan().has(id)) continue;
      const Verdict& v = tree_.own(id);
      if (v.green() || v.kind == Verdict::kNoInput || tried_[id] != tree_.keys().of(id).id) continue;
      const std::string command = command_for(options_.on_red, tree_.plan(), tree_.plan().at(id));
      if (command.empty() || rounds_[id] >= options_.on_red.rounds) continue;
      const Called called = call_on_red(tree_, id, command, options_.on_red, ++rounds_[id]);
      say(called.text);
      if (!called.configured) return false;
    }
    return true;
  }

  struct Rest {
    std::size_t all = 0, shown = 0, waiting = 0;
    bool blocked = false;
    bool green() const { return shown + waiting == 0; }
  };

  // what is not green and why, line by line; what only waits for others is counted
  Rest say_rest() {
    Rest rest;
    for (const Task* t : tree_.plan().ranked()) {
      ++rest.all;
      const Verdict& v = tree_.own(t->id);
      const auto& root = tree_.root(t->id);
      if (v.green() && !root) continue;
      const bool own = tried_.contains(t->id) && !v.green();
      if ((root && root->task == t->id && (!manual_ || own || is_approved(tree_, *t))) || v.kind == Verdict::kRed ||
          v.kind == Verdict::kNoCode || v.kind == Verdict::kNoInput) {
        rest.blocked = rest.blocked || v.kind == Verdict::kNoInput;
        if (rest.shown++ < 20) say(fmt::format("  {}: {}", t->id, v.why));
      } else {
        ++rest.waiting;
      }
    }
    return rest;
  }

  void write_pages() {
    update_ledger(tree_);
    for (const auto& page : publish(tree_).refused)
      say(fmt::format("{} names this machine or its directories: not copied into the sources", page));
  }

  // manual mode, at a wave's boundary: what was done, what comes next, how to go on
  int stop_before(const Wave& wave) {
    write_pages();
    say(headline(tree_));
    const Rest rest = say_rest();
    say(fmt::format("{} of {} tasks are done; next is wave {:02}, phase {}:", rest.all - rest.shown - rest.waiting,
                    rest.all, wave.number, tree_.plan().at(wave.tasks[0]).phase));
    for (const auto& id : wave.tasks) say("  " + in_words(tree_.plan().at(id)));
    say(fmt::format("to approve: cpize approve --wave {} [--why TEXT]; then: cpize drive", wave.number));
    return end(kApproval, fmt::format("wave {:02} awaits approval", wave.number));
  }

  int finish() {
    tree_.refresh();
    write_pages();
    const Rest rest = say_rest();
    if (rest.green()) {
      if (!options_.quiet) say(headline(tree_));
      return end(kDone, fmt::format("all {} tasks are green", rest.all));
    }
    return end(rest.blocked ? kBlocked : kFailed,
               fmt::format("{} of {} tasks are not green, {} of them wait for the others", rest.shown + rest.waiting,
                           rest.all, rest.waiting));
  }

  Tree& tree_;
  DriveOptions options_;
  int wave_ = 0;
  bool manual_ = false;
  std::map<std::string, std::string> tried_;  // task -> the key at which it was proved in this drive
  std::map<std::string, int> attempts_, rounds_;
};

}  // namespace

int drive(const fs::path& plan_file, const DriveOptions& options) {
  Tree tree(plan_file);
  Lock lock(tree.plan().locks() / "drive.lock", false);
  if (!lock.try_take()) throw UsageError("another drive runs on this tree");
  return Driver(tree, options).run();
}

}  // namespace cpize::tool
