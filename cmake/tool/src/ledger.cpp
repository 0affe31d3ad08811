#include "ledger.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "commands.hpp"
#include "errors.hpp"
#include "mode.hpp"
#include "state.hpp"
#include "text.hpp"

namespace cpize::tool {
namespace {

constexpr std::string_view kDate = "| date | ";

// what the project's people know it by; a place outside the project shrinks to its last part
std::string place(const Plan& plan, const std::string& value) {
  if (value.empty()) return "-";
  std::string v = plan.portable(value);
  if (v == "<source>") return "this project";
  return v.starts_with("/") ? ".../" + fs::path(v).filename().string() : v;
}

std::string cell(const Plan& plan, std::string s) {
  s = plan.portable(std::move(s));
  for (auto& c : s) c = c == '\n' ? ' ' : c;
  return replace_all(std::move(s), "|", "\\|");
}

std::string without_date(const std::string& page) {
  std::string out;
  for (const auto& line : split(page)) {
    if (!line.starts_with(kDate)) out += line + "\n";
  }
  return out;
}

}  // namespace

std::string ledger_text(Tree& tree) {
  const Plan& p = tree.plan();
  std::string s = fmt::format("# CP integration plan: {}\n\n", p.name);
  s += "Rendered by `cpize` from the evidence and the decisions; edits are lost.\n\n| | |\n|---|---|\n";
  const auto row = [&](std::string_view name, const std::string& value) {
    s += fmt::format("| {} | {} |\n", name, cell(p, value));
  };
  std::vector<std::string> cp;
  for (const int c : p.cp) cp.push_back(std::to_string(c));
  row("model", place(p, p.model));
  row("reference", place(p, p.ref));
  row("scope", p.scope);
  row("focus", p.focus.empty() ? "whole model" : join(p.focus, ", "));
  row("mesh", fmt::format("dp {}, cp ({}), world {}, {}", p.dp, join(cp, ","), p.world, p.backend));
  row("launch", p.launch);
  row("data", place(p, p.data));
  row("mode", mode_now(tree));
  s += fmt::format("{}{} |\n\n", kDate, now());
  s += "| # | wave | phase | task | delegate | needs | kind | risk | state | gate | artifact |\n";
  s += "|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Task* t : p.ranked(true)) {
    const State state = state_of(tree, *t);
    const std::string number = t->in_scope ? std::to_string(t->rank) : "-",
                      wave = t->in_scope ? std::to_string(t->wave) : "-";
    const std::string risk = t->risk + (t->risk_reason.empty() ? "" : ": " + t->risk_reason);
    std::string gate = state.name == "out-of-scope" ? "-" : state.name == "done" ? "green" : state.why;
    if (const std::string absent = absent_cells(tree.own(t->id)); state.name == "done" && !absent.empty())
      gate += "; " + absent;
    s +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", number, wave, t->phase, t->id,
                    t->delegate.empty() ? "-" : cell(p, t->delegate), t->depends.empty() ? "-" : join(t->depends, ", "),
                    t->kind, cell(p, risk), state.name, cell(p, gate), t->artifact.empty() ? "-" : t->artifact);
  }
  std::string reopened, decided;
  for (const auto& d : tree.decisions().entries) {
    const std::string event = d.value("event", std::string()), when = d.value("when", std::string());
    const std::string why = cell(p, d.value("why", std::string()));
    if (event == "reopen") {
      reopened += fmt::format("- {}: {}: {}\n", when, join(d.value("tasks", std::vector<std::string>{}), " and "), why);
    } else {
      std::string what = event;
      if (event == "mode") what += " " + d.value("mode", std::string());
      if (event == "approve") {
        what +=
            fmt::format(" wave {} ({})", d.value("wave", 0), join(d.value("tasks", std::vector<std::string>{}), ", "));
      }
      decided += fmt::format("- {}: {}{}\n", when, what, why.empty() ? "" : ": " + why);
    }
  }
  s += "\n## Decisions\n" + (decided.empty() ? "None.\n" : decided);
  s += "\n## Reopened\n" + (reopened.empty() ? "Nothing.\n" : reopened);
  return s;
}

bool update_ledger(Tree& tree) {
  const std::string page = ledger_text(tree);
  const auto old = read_file(tree.plan().ledger);
  if (old && without_date(*old) == without_date(page)) return false;
  write_atomically(tree.plan().ledger, page);
  return true;
}

Published publish(Tree& tree) {
  const Plan& p = tree.plan();
  std::vector<std::string> pages{p.ledger.lexically_relative(p.build).string()};
  Published out;
  for (const Task* t : p.ranked()) {
    if (t->artifact.starts_with("docs/") && !tree.root(t->id)) pages.push_back(t->artifact);
  }
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  for (const auto& page : pages) {
    const auto text = read_file(p.build / page);
    if (!text || !page.starts_with("docs/")) continue;
    const bool tells = text->find(p.source.string()) != std::string::npos ||
                       text->find(p.build.string()) != std::string::npos ||
                       (std::string_view(host).size() > 3 && text->find(host) != std::string::npos);
    if (tells) {
      out.refused.push_back(page);
      continue;
    }
    const auto old = read_file(p.source / page);
    if (old && without_date(*old) == without_date(*text)) continue;
    write_atomically(p.source / page, *text);
    out.written.push_back(page);
  }
  return out;
}

int write_ledger(Tree& tree) {
  const bool written = update_ledger(tree);
  fmt::print("{}: {}\n", tree.plan().portable(tree.plan().ledger.string()), written ? "written" : "unchanged");
  return kDone;
}

}  // namespace cpize::tool
