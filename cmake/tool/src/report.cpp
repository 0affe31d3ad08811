#include "report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "child.hpp"
#include "commands.hpp"
#include "errors.hpp"
#include "figures.hpp"
#include "ledger.hpp"
#include "state.hpp"
#include "text.hpp"

namespace cpize::tool {
namespace {

constexpr std::string_view kOpen = "TODO(learn_context)";
constexpr std::size_t kShown = 10;  // of a list that may be long

// The present run of drives: it begins with the first drive after the last one that ended all green, and may have been
// killed, stopped for approval and resumed since.
struct Driven {
  std::string began;                         // "": nobody drove yet
  std::map<std::string, std::string> green;  // what was green then: task -> key

  bool is_new(Tree& tree, const std::string& task) const {
    const auto it = green.find(task);
    return !began.empty() && (it == green.end() || it->second != tree.keys().of(task).id);
  }
};

Driven last_driven(const Plan& plan) {
  Driven present, last;
  for (const auto& e : read_log(plan.log())) {
    const std::string event = e.value("event", std::string());
    if (event == "drive" && present.began.empty()) {
      present = {e.value("when", std::string()), e.value("green", std::map<std::string, std::string>{})};
    }
    if (event == "end" && e.value("exit", -1) == kDone) last = std::exchange(present, {});
  }
  return present.began.empty() ? last : present;
}

std::string evidence_line(Tree& tree) {
  const Driven driven = last_driven(tree.plan());
  std::size_t all = 0, green = 0, fresh = 0, elsewhere = 0;
  for (const Task* t : tree.plan().ranked()) {
    ++all;
    const Verdict& v = tree.own(t->id);
    if (!v.green()) continue;
    ++green;
    fresh += driven.is_new(tree, t->id) ? 1 : 0;
    elsewhere +=
        std::ranges::any_of(v.cells, [](const auto& c) { return c.second.run.machine != this_machine(); }) ? 1 : 0;
  }
  std::string line = fmt::format("{} of {} tasks have green evidence", green, all);
  if (!driven.began.empty()) line += fmt::format(": {} newly measured, {} reused", fresh, green - fresh);
  if (elsewhere > 0) line += fmt::format(", {} with cells of another machine", elsewhere);
  return line + (driven.began.empty() ? "; no drive yet" : fmt::format("; the drive began {}", driven.began));
}

std::vector<std::string> figure_lines(const Figures& f) {
  std::vector<std::string> lines;
  if (f.worst.known()) {
    const std::string place = fmt::format("{} {} [{}]", f.worst.task, f.worst.name, f.worst.cell);
    lines.push_back(f.worst.tolerance > 0
                        ? fmt::format("nearest to its tolerance  {:.1e} of {:.1e} allowed ({:.2g} times)  {}",
                                      f.worst.difference, f.worst.tolerance, f.worst.share(), place)
                        : fmt::format("nearest to its tolerance  equal bit for bit  {}", place));
  }
  const auto add = [&](const char* what, const Figure& figure, const std::string& value) {
    if (figure.known())
      lines.push_back(fmt::format("{:<24}  {}  {} {} [{}]", what, value, figure.task, figure.name, figure.cell));
  };
  add("most bytes sent", f.sent, bytes_in_words(f.sent.value));
  add("highest peak", f.peak, bytes_in_words(f.peak.value));
  add("most tokens/s", f.tokens, fmt::format("{:.4g}", f.tokens.value));
  return lines;
}

void print_table(Tree& tree) {
  const Driven driven = last_driven(tree.plan());
  std::size_t w = 4;
  for (const Task* t : tree.plan().ranked()) w = std::max(w, t->id.size());
  fmt::print(
      "\n{:<{}}  phase  state      cells  evidence  measured              worst of allowed     sent      peak      "
      "tokens/s\n",
      "task", w);
  for (const Task* t : tree.plan().ranked()) {
    const State state = state_of(tree, *t);
    const Verdict& v = tree.own(t->id);
    if (!v.green()) {
      fmt::print("{:<{}}  {:>5}  {:<9}  {:>5}  {}\n", t->id, w, t->phase, state.name,
                 fmt::format("{}/{}", v.cells.size(), t->cells.size()), v.why);
      continue;
    }
    std::string newest;
    for (const auto& [name, c] : v.cells) newest = std::max(newest, c.run.when);
    const Figures f = figures_of(tree, t->id);
    const std::string worst = !f.worst.known() ? "-"
                              : f.worst.tolerance > 0
                                  ? fmt::format("{:.1e} of {:.1e}", f.worst.difference, f.worst.tolerance)
                                  : "bit for bit";
    fmt::print("{:<{}}  {:>5}  {:<9}  {:>5}  {:<8}  {:<20}  {:<18}  {:>8}  {:>8}  {:>8}\n", t->id, w, t->phase,
               state.name, v.cells.size(), driven.is_new(tree, t->id) ? "new" : "reused", newest, worst,
               f.sent.known() ? bytes_in_words(f.sent.value) : "-", f.peak.known() ? bytes_in_words(f.peak.value) : "-",
               f.tokens.known() ? fmt::format("{:.4g}", f.tokens.value) : "-");
  }
}

// at most kShown lines, and how many more
void print_list(const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  fmt::print("\n{}\n", title);
  for (std::size_t i = 0; i < std::min(lines.size(), kShown); ++i) fmt::print("  {}\n", lines[i]);
  if (lines.size() > kShown) fmt::print("  and {} more\n", lines.size() - kShown);
}

// what phase 0 could not learn: the newest page counts, the build tree's before the committed one
std::vector<std::string> open_questions(const Plan& plan) {
  const fs::path page = "docs/current_code_structure.md";
  auto text = read_file(plan.build / page);
  if (!text) text = read_file(plan.source / page);
  std::vector<std::string> open;
  for (const auto& line : split(text.value_or(""))) {
    if (line.find(kOpen) != std::string::npos)
      open.push_back(line.substr(std::min(line.find_first_not_of(" \t"), line.size())));
  }
  return open;
}

struct Uncommitted {
  bool known = false;
  std::vector<std::string> files;
};

Uncommitted uncommitted(const Plan& plan) {
  Uncommitted out;
  const fs::path log = plan.logs() / "report.git.log";
  const ChildResult r =
      run_child({{"git", "-C", plan.source.string(), "status", "--porcelain", "--untracked-files=normal", "--", "."},
                 log,
                 plan.source,
                 {},
                 60});
  out.known = r.ok();
  if (out.known) out.files = split(read_file(log).value_or(""));
  std::erase_if(out.files, [&](const std::string& line) {  // a build tree inside the sources is no work of anybody
    const std::string build = plan.build.lexically_relative(plan.source).string() + "/";
    return line.size() > 3 && (build.starts_with(line.substr(3)) || line.substr(3).starts_with(build));
  });
  return out;
}

}  // namespace

std::vector<std::string> unresolved_reopenings(Tree& tree) {
  std::vector<std::string> open;
  std::set<std::string> seen;  // a task reopened twice is open once, for the last reason
  const auto& entries = tree.decisions().entries;
  for (auto e = entries.rbegin(); e != entries.rend(); ++e) {
    if (e->value("event", std::string()) != "reopen") continue;
    std::vector<std::string> left;
    for (const auto& name : (*e)["tasks"]) {
      const auto id = name.get<std::string>();
      if (!seen.insert(id).second || !tree.plan().has(id) || !tree.plan().at(id).in_scope) continue;
      if (!tree.own(id).green()) left.push_back(id);
    }
    if (!left.empty()) {
      const std::string seam = e->value("seam", std::string());
      open.push_back(fmt::format("{}{}: {} ({})", join(left, " and "), seam.empty() ? "" : " (seam " + seam + ")",
                                 e->value("why", std::string()), e->value("when", std::string())));
    }
  }
  std::ranges::reverse(open);
  return open;
}

std::map<std::string, std::string> green_keys(Tree& tree) {
  std::map<std::string, std::string> keys;
  for (const Task* t : tree.plan().ranked()) {
    if (tree.own(t->id).green()) keys[t->id] = tree.keys().of(t->id).id;
  }
  return keys;
}

std::string headline(Tree& tree) {
  Figures all;
  for (const Task* t : tree.plan().ranked()) {
    if (tree.own(t->id).green()) all.add(figures_of(tree, t->id));
  }
  std::string text = evidence_line(tree);
  for (const auto& line : figure_lines(all)) text += "\n  " + line;
  return text;
}

int report(Tree& tree, bool publish_pages) {
  const Plan& plan = tree.plan();
  fmt::print("report of {}\n{}\n", plan.name, headline(tree));
  if (const std::string input = plan.newer_input(); !input.empty())
    fmt::print("the plan is older than {}: configure first\n", input);
  print_table(tree);
  std::map<std::string, std::vector<std::string>> absent;  // what is absent -> where
  for (const Task* t : plan.ranked()) {
    if (const std::string text = absent_cells(tree.own(t->id)); !text.empty()) absent[text].push_back(t->id);
  }
  std::vector<std::string> elsewhere;
  for (const auto& [text, ids] : absent) elsewhere.push_back(fmt::format("{}: {}", text, join(ids, " ")));
  print_list("required cells without evidence, by task:", elsewhere);
  const auto open = open_questions(plan);
  print_list(fmt::format("docs/current_code_structure.md: {} {} left", open.size(), kOpen), open);
  if (const Uncommitted git = uncommitted(plan); git.known) {
    print_list(fmt::format("uncommitted: {} file{}", git.files.size(), git.files.size() == 1 ? "" : "s"), git.files);
  } else {
    fmt::print("\nno git here: whether everything is committed is not known\n");
  }
  if (publish_pages) {
    update_ledger(tree);
    const Published p = publish(tree);
    print_list("published:", p.written.empty() ? std::vector<std::string>{"nothing changed"} : p.written);
    print_list("not published, since they name this machine or its directories:", p.refused);
    if (!p.refused.empty()) return kFailed;
  }
  const auto reopened = unresolved_reopenings(tree);
  print_list("reopened and not green since:", reopened);
  return reopened.empty() ? kDone : kFailed;
}

}  // namespace cpize::tool
