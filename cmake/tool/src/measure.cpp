#include "measure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "child.hpp"
#include "judge.hpp"
#include "launch.hpp"
#include "sha256.hpp"
#include "slots.hpp"
#include "text.hpp"

namespace cpize::tool {
namespace {

using nlohmann::json;

std::string file_hash(const fs::path& p) {
  const auto text = read_file(p);
  return text ? sha256(*text).substr(0, 16) : std::string();
}

// what CMake found at configure time, for programs that do not report their compiler
std::string configured_compiler(const Plan& plan) {
  std::error_code e;
  for (const auto& d : fs::directory_iterator(plan.build / "CMakeFiles", e)) {
    std::ifstream f(d.path() / "CMakeCXXCompiler.cmake");
    std::string id, version;
    for (std::string line; std::getline(f, line);) {
      const auto value = [&](const char* key, std::string& out) {
        const std::string head = fmt::format("set({} \"", key);
        if (line.starts_with(head) && line.ends_with("\")"))
          out = line.substr(head.size(), line.size() - head.size() - 2);
      };
      value("CMAKE_CXX_COMPILER_ID", id);
      value("CMAKE_CXX_COMPILER_VERSION", version);
    }
    if (!id.empty()) return id + " " + version;
  }
  return "";
}

std::map<std::string, std::string> facts_of(const Plan& plan, const Task& t, const LaunchGroup& group,
                                            const json& measurement) {
  std::map<std::string, std::string> facts;
  const json environment = measurement.value("environment", json::object());
  if (environment.is_object()) {
    for (const auto& [k, v] : environment.items())
      facts[k] = plan.portable(v.is_string() ? v.get<std::string>() : v.dump());
  }
  if (!facts.contains("compiler")) {
    if (std::string c = configured_compiler(plan); !c.empty()) facts["compiler"] = c;
  }
  if (const std::string h = file_hash(t.command[0]); !h.empty()) facts["program"] = h;
  if (group.backend == "nccl" && gpus_for(group.ranks) < group.ranks)
    facts["ranks_per_gpu"] = std::to_string(std::min(ranks_per_gpu(), group.ranks));
  const char* const copies = std::getenv("CPIZE_PEER_COPIES");  // another path of the exchanges
  if (group.device == "cuda" && copies && *copies) facts["peer_copies"] = copies;
  return facts;
}

struct Report {
  json measurement = json::object();
  std::string fault;  // why none of the cells counts
};

Report read_report(const Task& t, const fs::path& file, const ChildResult& child) {
  Report r;
  const auto text = read_file(file);
  std::string error;
  if (text && t.verb != "check") r.measurement = parse_measurement(*text, error);
  if (!r.measurement.is_object()) r.measurement = json::object();
  if (!child.ok()) {
    r.fault = "the program " + child.text;
  } else if (t.verb == "check") {
    return r;
  } else if (!text) {
    r.fault = "the program wrote no measurement";
  } else if (!error.empty()) {
    r.fault = "the measurement cannot be read: " + error;
  } else if (r.measurement.value("schema", json()) != 1) {
    r.fault = "the measurement has no \"schema\": 1";
  } else if (!r.measurement.contains("cells") || !r.measurement["cells"].is_object()) {
    r.fault = "the measurement has no cells";
  } else {
    const json profile = r.measurement.value("profile", json());
    r.fault = refuse_profile(t.phase, t.verb, profile.is_string() ? profile.get<std::string>() : "");
  }
  return r;
}

CellJudgement judge_one(const Task& t, const Report& r, const std::string& name) {
  CellJudgement j;
  if (!r.fault.empty()) {
    j.why = r.fault;
  } else if (t.verb == "check") {
    j.ok = true;
  } else if (const json& cells = r.measurement["cells"]; !cells.contains(name)) {
    j.why = "the program did not measure this cell";
  } else {
    j = judge_cell(r.measurement["profile"].get<std::string>(), t.phase, cells[name]);
  }
  return j;
}

/// ": " and the last line that a program wrote before it failed, which says more than its exit status; or "".
std::string last_words(const Plan& plan, const fs::path& log) {
  const std::string line = plan.portable(tail(read_file(log).value_or(""), 1, 200));
  return line.empty() ? "" : ": " + line;
}

/// One group of cells, run.
struct Launch {
  LaunchGroup group;
  ChildResult child;
  Report report;
};

/// The group that writes the task's artifact: the one of the plan's own mesh and backend, which every task requires.
std::size_t artifact_group(const Plan& plan, const std::vector<LaunchGroup>& groups) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const auto& cell : groups[i].cells)
      if (const CellPlace c = CellPlace::of(cell); c.backend == plan.backend && c.ranks == plan.world) return i;
  }
  return 0;
}

std::vector<Launch> launch_all(const Plan& plan, const Task& t, const std::vector<std::string>& cells,
                               const fs::path& log, const fs::path& report_file) {
  ChildSpec child{t.command, log, plan.source, {}, t.timeout};
  child.command.insert(child.command.end(), t.args.begin(), t.args.end());
  child.environment = {
      {"CPIZE_TASK", t.id}, {"CPIZE_MEASUREMENT", report_file.string()}, {"CPIZE_BUILD_DIR", plan.build.string()}};
  const auto groups = launch_groups(cells);
  const std::size_t writer = artifact_group(plan, groups);
  std::vector<Launch> launches;
  std::error_code e;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const LaunchGroup& g = groups[i];
    ChildSpec one = child;
    one.append_log = i > 0;
    if (!t.artifact.empty() && i == writer) {
      const fs::path artifact = plan.build / t.artifact;
      fs::create_directories(artifact.parent_path());
      one.environment["CPIZE_ARTIFACT"] = artifact.string();
    }
    fmt::print("{}: measuring {} cell{}{}\n", t.id, g.cells.size(), g.cells.size() == 1 ? "" : "s",
               g.backend == "threads" ? "" : fmt::format(" over {} on {} ranks, {}", g.backend, g.ranks, g.device));
    std::fflush(stdout);
    fs::remove(report_file, e);
    Launch l{g, launch(plan, t.id, one, g), {}};
    l.report = read_report(t, report_file, l.child);
    if (l.child.exit > 0 && g.backend == "threads") l.report.fault += last_words(plan, log);
    fs::remove(report_file, e);
    launches.push_back(std::move(l));
  }
  return launches;
}

/// Judges a group's cells into the evidence and its details.
void add_launch(const Task& t, const Plan& plan, const std::string& machine, const Launch& l, Evidence& ev,
                json& details) {
  const Report& report = l.report;
  const Run run{machine, now(), l.child.seconds, facts_of(plan, t, l.group, report.measurement)};
  const auto keep = [&](const std::string& name) {
    const CellJudgement j = judge_one(t, report, name);
    const json raw =
        report.fault.empty() && t.verb != "check" ? report.measurement["cells"].value(name, json()) : json();
    details["cells"][name] = {
        {"ok", j.ok}, {"why", j.why}, {"when", run.when}, {"facts", run.facts}, {"measured", raw}};
    ev.cells[name] = {j, run};
  };
  for (const auto& name : l.group.cells) keep(name);
  if (!report.fault.empty() || t.verb == "check") return;
  details["profile"] = report.measurement["profile"];
  if (const json more = report.measurement.value("details", json::object()); more.is_object())
    details["details"].update(more);
  for (const auto& [name, cell] : report.measurement["cells"].items()) {
    // more than was asked for; but only what this launch could have measured
    const auto groups = launch_groups({l.group.cells.empty() ? name : l.group.cells[0], name});
    if (std::ranges::find(l.group.cells, name) == l.group.cells.end() && groups.size() == 1) keep(name);
  }
}

}  // namespace

Measured measure(Tree& tree, const std::string& id, const std::vector<std::string>& cells) {
  const Task t = tree.plan().at(id);  // a copy: the plan is read again below
  const Plan& plan = tree.plan();
  const Key key = tree.keys().of(id);
  const auto inputs = tree.keys().inputs(id);
  Measured m;
  m.log = plan.logs() / (id + ".log");
  const fs::path report_file = plan.logs() / (id + ".measurement.json");
  std::error_code e;
  fs::create_directories(plan.logs());
  fs::remove(report_file, e);

  const auto launches = launch_all(plan, t, cells, m.log, report_file);
  for (const auto& l : launches) m.seconds += l.child.seconds;

  tree.refresh();
  if (tree.keys().of(id).id != key.id) {
    m.why = "its sources changed while it was measured; nothing recorded";
    fs::remove(report_file, e);
    return m;
  }
  if (std::ranges::all_of(launches, [](const Launch& l) { return l.child.not_started; })) {
    m.why = "the program " + launches[0].child.text;
    m.show_log = true;
    tree.note_attempt(id, m.why);
    return m;
  }

  const std::string machine = this_machine();
  Evidence ev{id, key.id, machine, {}, {}};
  json details = json::object();
  for (auto& old : tree.store().load(id, key.id)) {  // the same key, more cells: add to them
    if (old.machine != machine) continue;
    ev.cells = std::move(old.cells);
    details = tree.store().details(id, key.id);
  }
  details["schema"] = 1;
  details["task"] = id;
  details["key"] = key.id;
  details["inputs"] = inputs;
  for (const auto& l : launches) add_launch(t, plan, machine, l, ev, details);
  details["log"] = plan.portable(tail(read_file(m.log).value_or(""), 40, 4000));
  if (!t.artifact.empty()) {
    if (const auto text = read_file(plan.build / t.artifact)) ev.artifact = sha256(*text);
  }
  tree.store().save(ev, details);
  tree.clear_attempt(id);
  m.recorded = true;
  return m;
}

}  // namespace cpize::tool
