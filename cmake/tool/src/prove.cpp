// cpize prove X: guard, fresh evidence, build, key, measure, key again, record, judge. With --cell also what X does not
// require, which no gate reads.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "build.hpp"
#include "child.hpp"
#include "commands.hpp"
#include "dashboard.hpp"
#include "errors.hpp"
#include "guard.hpp"
#include "launch.hpp"
#include "locks.hpp"
#include "measure.hpp"
#include "state.hpp"
#include "text.hpp"

namespace cpize::tool {
namespace {

void say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

int red(const std::string& id, const std::string& why, const fs::path& log = {}) {
  say(fmt::format("{}: RED: {}", id, why));
  if (!log.empty()) {
    if (const auto text = read_file(log); text && !text->empty())
      say("--- end of " + log.filename().string() + "\n" + tail(*text));
  }
  return kFailed;
}

int green(Tree& tree, const std::string& id, const std::string& how) {
  say(fmt::format("{}: green, {} ({}, key {})", id, how, proof_of(tree.own(id)), tree.keys().of(id).id.substr(0, 12)));
  return kDone;
}

/// Cells that were asked for beyond those that the task requires.
struct More {
  std::vector<std::string> missing;  // nothing at this key has measured them
  std::string red;                   // the first one that is, and why
};

More look_at(Tree& tree, const std::string& id, const std::vector<std::string>& cells) {
  More more;
  const auto evidence = tree.evidence_for(id, tree.keys().of(id).id);
  for (const auto& cell : cells) {
    const auto known = std::ranges::find_if(evidence, [&](const Evidence& e) { return e.cells.contains(cell); });
    if (known == evidence.end())
      more.missing.push_back(cell);
    else if (const CellJudgement& j = known->cells.at(cell).judgement; !j.ok && more.red.empty())
      more.red = cell + ": " + j.why;
  }
  return more;
}

/// UsageError where a cell has no such name, or cannot be measured here.
void require_measurable(const Plan& plan, const std::vector<std::string>& cells) {
  const Machine machine = Machine::here(plan);
  for (const auto& cell : cells) {
    if (CellPlace::of(cell).ranks == 0)
      throw UsageError(fmt::format(
          "'{}' is no cell; write <dp>x<cp0>x<cp1>/<backend>/<dtype>/<device>, as in 1x2x2/nccl/bf16/cuda", cell));
    if (const std::string lacks = machine.lacks_for(cell); !lacks.empty())
      throw UsageError(fmt::format("{} cannot be measured here: {}", cell, lacks));
  }
}

std::optional<int> settled(Tree& tree, const std::string& id, const std::vector<std::string>& cells) {
  const Verdict& v = tree.own(id);
  if (v.kind == Verdict::kNoCode) return red(id, v.why);
  if (const auto refusal = guard(tree, id)) {
    say(fmt::format("{}: REFUSED: {}", id, refusal->why));
    return kFailed;
  }
  if (const std::string input = tree.plan().newer_input(); !input.empty()) {
    return red(id, fmt::format("the plan is older than {}: configure first", input));
  }
  if (v.green()) {
    const More more = look_at(tree, id, cells);
    if (!more.red.empty()) return red(id, more.red);
    if (more.missing.empty()) return green(tree, id, "fresh");
  }
  if (v.kind == Verdict::kNoInput) {
    say(fmt::format("{}: BLOCKED: {}", id, v.why));
    return kBlocked;
  }
  return std::nullopt;
}

// nullopt when the binary is the one that the key's sources give
std::optional<int> build(Tree& tree, const std::string& id) {
  Lock lock(build_lock(tree.plan()), true);
  lock.take();
  const fs::path log = tree.plan().logs() / (id + ".build.log");
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Task t = tree.plan().at(id);  // a copy: the plan is read again below
    const std::string before = tree.keys().of(id).id;
    refresh_time_stamps(tree.keys().source_files(id), t.command[0]);
    if (const auto r = build_targets(tree.plan(), {t.target}, log, false); !r.ok()) {
      tree.refresh();
      const std::string why = fmt::format("{} does not build ({})", t.target, r.text);
      tree.note_attempt(id, why);
      return red(id, why, log);
    }
    tree.refresh();  // the build may have configured again, and generated headers exist now
    if (const std::string input = tree.plan().newer_input(); !input.empty()) {
      return red(id, fmt::format("the plan is older than {}: configure first", input));
    }
    if (tree.keys().of(id).id == before) return std::nullopt;
  }
  return red(id, "its sources keep changing while it is built; nothing recorded");
}

int prove_once(Tree& tree, const std::string& id, const std::vector<std::string>& cells) {
  if (!tree.plan().at(id).in_scope) throw UsageError(fmt::format("{} is out of scope of this plan", id));
  require_measurable(tree.plan(), cells);
  if (const auto done = settled(tree, id, cells)) return *done;

  Lock lock(task_lock(tree.plan(), id), true);
  bool waited = false;
  for (int i = 0; !lock.try_take(); ++i) {  // a status query holds the lock for an instant; a measurement for longer
    if (i == 5) {
      say(fmt::format("{}: in flight elsewhere, waiting", id));
      lock.take();
      waited = true;
      break;
    }
    ::usleep(20000);
  }
  if (waited) say(fmt::format("{}: the other one ended", id));
  tree.refresh();
  if (const auto done = settled(tree, id, cells)) return *done;

  if (!tree.plan().at(id).target.empty()) {
    if (const auto failed = build(tree, id)) return *failed;
    if (const auto done = settled(tree, id, cells))
      return *done;  // generated headers may have completed a key that is known
  }
  const Verdict before = tree.own(id);
  const Key& key = tree.keys().of(id);
  if (!key.macros.empty() && tree.plan().at(id).inputs.empty()) return red(id, before.why);
  if (!key.missing.empty()) {
    return red(id, before.kind == Verdict::kRed ? before.why : fmt::format("input missing: {}", key.missing[0]));
  }
  std::vector<std::string> wanted = before.wanted;
  for (const auto& cell : look_at(tree, id, cells).missing)
    if (std::ranges::find(wanted, cell) == wanted.end()) wanted.push_back(cell);
  if (wanted.empty()) return red(id, before.why);

  const Measured m = measure(tree, id, wanted);
  if (!m.recorded) return red(id, m.why, m.show_log ? m.log : fs::path());
  tree.refresh();
  const Verdict& v = tree.own(id);
  if (const More more = look_at(tree, id, cells); v.green() && !more.red.empty()) return red(id, more.red, m.log);
  if (v.green()) return green(tree, id, fmt::format("measured in {:.1f} s", m.seconds));
  if (v.kind == Verdict::kNoInput) {
    say(fmt::format("{}: BLOCKED: {}", id, v.why));
    return kBlocked;
  }
  return red(id, v.why, m.log);
}

}  // namespace

int prove(Tree& tree, const std::string& id, const std::vector<std::string>& cells) {
  const int status = prove_once(tree, id, cells);
  report_to_dashboard(tree, id);
  return status;
}

}  // namespace cpize::tool
