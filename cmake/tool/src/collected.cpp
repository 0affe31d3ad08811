#include "collected.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "errors.hpp"
#include "files.hpp"
#include "sha256.hpp"
#include "text.hpp"
#include "tree.hpp"

namespace cpize::tool {
namespace {

using nlohmann::json;

/// The lines of a file by the task that each names; lines that cannot be read are dropped.
std::map<std::string, std::string> lines_by_task(const fs::path& file) {
  std::map<std::string, std::string> lines;
  for (const auto& line : split(read_file(file).value_or(""))) {
    const json j = json::parse(line, nullptr, false);
    if (j.is_object() && !j.value("task", std::string()).empty()) lines[j["task"].get<std::string>()] = line;
  }
  return lines;
}

void write_lines(const fs::path& file, const std::map<std::string, std::string>& lines) {
  std::string text;
  for (const auto& [task, line] : lines) text += line + "\n";
  write_atomically(file, text);
}

/// What a reader of the numbers needs, without logs.
json compact_details(const json& details, const Evidence& kept) {
  json out{{"task", kept.task}, {"key", kept.key}, {"machine", kept.machine}, {"cells", json::object()}};
  for (const auto& [name, cell] : kept.cells) {
    if (details.contains("cells") && details["cells"].contains(name)) {
      const json& c = details["cells"][name];
      out["cells"][name] = {{"measured", c.value("measured", json())}, {"facts", c.value("facts", json())}};
    }
  }
  return out;
}

}  // namespace

CollectedEvidence::CollectedEvidence(const fs::path& folder) {
  std::error_code e;
  if (folder.empty()) return;
  for (const auto& f : fs::directory_iterator(folder, e)) {
    const std::string name = f.path().filename().string();
    if (!name.starts_with("cells.") || !name.ends_with(".jsonl")) continue;
    for (const auto& line : split(read_file(f.path()).value_or(""))) {
      if (auto ev = evidence_from(json::parse(line, nullptr, false))) by_task_[ev->task].push_back(std::move(*ev));
    }
  }
}

std::vector<Evidence> CollectedEvidence::load(const std::string& task, const std::string& key) const {
  std::vector<Evidence> found;
  if (const auto at = by_task_.find(task); at != by_task_.end())
    std::ranges::copy_if(at->second, std::back_inserter(found), [&](const Evidence& e) { return e.key == key; });
  return found;
}

std::set<std::string> CollectedEvidence::cells_of_other_keys(const std::string& task, const std::string& key) const {
  std::set<std::string> cells;
  if (const auto at = by_task_.find(task); at != by_task_.end()) {
    for (const auto& e : at->second) {
      if (e.key == key) continue;
      for (const auto& [name, cell] : e.cells) cells.insert(name);
    }
  }
  return cells;
}

int collect_evidence(Tree& tree) {
  const Plan& plan = tree.plan();
  if (plan.collected_evidence.empty()) throw UsageError("the plan names no folder for collected evidence");
  const std::string machine = this_machine();
  const fs::path cells_file = plan.collected_evidence / fmt::format("cells.{}.jsonl", machine),
                 details_file = plan.collected_evidence / fmt::format("details.{}.jsonl", machine);
  auto summaries = lines_by_task(cells_file), numbers = lines_by_task(details_file);
  std::size_t cells = 0, tasks = 0, red = 0;
  for (const Task* t : plan.ranked()) {
    const std::string key = tree.keys().of(t->id).id;
    for (Evidence e : tree.store().load(t->id, key)) {
      if (e.machine != machine) continue;
      const json details = tree.store().details(t->id, key);
      std::erase_if(e.cells, [&](const auto& cell) {
        const bool hardware = CellPlace::of(cell.first).needs_hardware();
        if (hardware && !cell.second.judgement.ok) {
          fmt::print("{}: not collected, red: {} [{}]\n", t->id, cell.second.judgement.why, cell.first);
          ++red;
        }
        return !hardware || !cell.second.judgement.ok;
      });
      if (e.cells.empty()) continue;
      const std::string line = to_text(compact_details(details, e));
      numbers[t->id] = line;
      summaries[t->id] = to_text(json::parse(summary_text(e, sha256(line))));
      cells += e.cells.size();
      ++tasks;
    }
  }
  if (tasks > 0) {
    write_lines(details_file, numbers);
    write_lines(cells_file, summaries);
  }
  fmt::print("{} cells of {} tasks collected into {}\n", cells, tasks, plan.portable(plan.collected_evidence.string()));
  return red == 0 ? kDone : kFailed;
}

int show_evidence(Tree& tree, const std::string& task) {
  for (const Task* t : tree.plan().ranked()) {
    if (!task.empty() && t->id != task) continue;
    const Verdict& v = tree.own(t->id);
    fmt::print("{}\n", t->id);
    for (const auto& name : t->cells) {
      if (const auto at = v.cells.find(name); at != v.cells.end()) {
        const Run& run = at->second.run;
        const auto shared = run.facts.find("ranks_per_gpu");
        fmt::print("  {:<26} green, {} on {}{}\n", name, run.when,
                   run.machine == this_machine() ? "this machine" : "machine " + run.machine,
                   shared == run.facts.end() ? "" : ", " + shared->second + " ranks a GPU");
      } else if (const auto lack = v.absent.find(name); lack != v.absent.end()) {
        fmt::print("  {:<26} {}not measurable here: {}\n", name, v.stale_absent.contains(name) ? "stale, " : "",
                   lack->second);
      } else {
        fmt::print("  {:<26} {}\n", name, v.why.empty() ? "to be measured" : v.why);
      }
    }
  }
  return kDone;
}

}  // namespace cpize::tool
