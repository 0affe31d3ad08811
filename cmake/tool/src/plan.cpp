#include "plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "errors.hpp"
#include "files.hpp"
#include "text.hpp"

namespace cpize::tool {
namespace {

using nlohmann::json;

// a list, or the same joined by newlines (what file(GENERATE) makes of a target's sources)
std::vector<std::string> strings(const json& j, const char* key) {
  const auto it = j.find(key);
  if (it == j.end() || it->is_null()) return {};
  if (it->is_string()) return split(it->get_ref<const std::string&>());
  std::vector<std::string> out;
  for (const auto& v : *it) {
    if (auto s = v.get<std::string>(); !s.empty()) out.push_back(std::move(s));
  }
  return out;
}

Task read_task(const json& j) {
  Task t;
  const auto text = [&](const char* key) { return j.value(key, std::string()); };
  t.id = j.at("id").get<std::string>();
  t.phase = j.at("phase").get<int>();
  t.subsystem = text("subsystem"), t.scope = text("scope"), t.delegate = text("delegate"), t.kind = text("kind");
  t.risk = text("risk"), t.risk_reason = text("risk_reason"), t.role = text("role"), t.artifact = text("artifact");
  t.cases = text("case"), t.verb = text("verb"), t.target = text("target"), t.where = text("where");
  t.dir = text("dir");
  t.effort = j.value("effort", 0.0);
  t.world_size = j.value("world_size", 1), t.gpus = j.value("gpus", 0), t.timeout = j.value("timeout", 0);
  t.wave = j.value("wave", 0), t.rank = j.value("rank", 0), t.fan_in = j.value("fan_in", 0);
  t.direct = j.value("direct", 0), t.chain = j.value("chain", 0), t.in_scope = j.value("in_scope", true);
  t.depends = strings(j, "depends"), t.implicit = strings(j, "implicit"), t.foreign = strings(j, "foreign");
  t.cites = strings(j, "cites"), t.inputs = strings(j, "inputs"), t.command = strings(j, "command");
  t.args = j.value("args", std::vector<std::string>{}), t.cells = strings(j, "cells");
  if (const auto units = j.find("units"); units != j.end()) {
    for (const auto& u : *units) {
      t.units.push_back({u.at("target").get<std::string>(), u.value("flags", std::string()),
                         fs::path(u.value("dir", std::string())), strings(u, "sources"), strings(u, "includes")});
    }
  }
  return t;
}

void check_edges(const Plan& p) {
  const auto known = [&](const std::string& who, const std::string& id) {
    if (!p.has(id))
      throw UsageError(fmt::format("{}: {} names the task '{}', which the plan lacks", p.file.string(), who, id));
  };
  for (const auto& t : p.tasks) {
    for (const auto& d : t.depends) known(t.id, d);
    for (const auto& d : t.implicit) known(t.id, d);
  }
  for (const auto& [phase, ids] : p.barriers) {
    for (const auto& id : ids) known(fmt::format("the barrier before phase {}", phase), id);
  }
  std::vector<char> mark(p.tasks.size(), 0);  // 1 on the path, 2 finished
  const auto visit = [&](const auto& self, std::size_t i) -> void {
    if (mark[i] == 2) return;
    if (mark[i] == 1) throw UsageError(fmt::format("{}: dependency cycle through {}", p.file.string(), p.tasks[i].id));
    mark[i] = 1;
    for (const auto& d : p.tasks[i].depends) self(self, p.index.at(d));
    for (const auto& d : p.tasks[i].implicit) self(self, p.index.at(d));
    mark[i] = 2;
  };
  for (std::size_t i = 0; i < p.tasks.size(); ++i) visit(visit, i);
}

}  // namespace

const Task& Plan::at(const std::string& id) const {
  const auto it = index.find(id);
  if (it != index.end()) return tasks[it->second];
  std::vector<std::string> ids;
  for (const auto& t : tasks) ids.push_back(t.id);
  const std::string near = nearest(id, ids);
  throw UsageError(
      fmt::format("no task '{}' in the plan{}", id, near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

std::vector<const Task*> Plan::ranked(bool all) const {
  std::vector<const Task*> v;
  for (const auto& t : tasks) {
    if (t.in_scope || all) v.push_back(&t);
  }
  std::stable_sort(v.begin(), v.end(), [](auto a, auto b) {
    return std::tuple(!a->in_scope, a->in_scope ? a->rank : a->phase) <
           std::tuple(!b->in_scope, b->in_scope ? b->rank : b->phase);
  });
  return v;
}

std::string Plan::project_name(const std::string& path) const {
  const std::string b = build.string() + "/", s = source.string() + "/";
  if (path.starts_with(b)) return "<build>/" + path.substr(b.size());
  if (path.starts_with(s)) return path.substr(s.size());
  return "";
}

std::string Plan::portable(std::string text) const {
  // the longer one first: one directory usually lies in the other
  const bool inner = build.string().size() > source.string().size();
  if (inner) text = replace_all(std::move(text), build.string(), "<build>");
  text = replace_all(std::move(text), source.string(), "<source>");
  return inner ? text : replace_all(std::move(text), build.string(), "<build>");
}

std::string Plan::newer_input() const {
  // CMake leaves a plan whose content did not change alone; the generator's own file is always written again
  fs::file_time_type generated = fs::file_time_type::min();
  const auto consider = [&](const fs::path& p) {
    std::error_code e;
    if (const auto t = fs::last_write_time(p, e); !e) generated = std::max(generated, t);
  };
  consider(file);
  consider(build / (multi ? fmt::format("build-{}.ninja", config) : "build.ninja"));
  consider(build / "CMakeFiles" / "Makefile.cmake");
  for (const auto& input : configure_inputs) {
    std::error_code e;
    const auto t = fs::last_write_time(input, e);
    if (e || t > generated) {
      const std::string name = project_name(input.string());
      return (name.empty() ? input.filename().string() : name) + (e ? " (gone)" : "");
    }
  }
  return "";
}

Plan load_plan(const fs::path& file) {
  const auto text = read_file(file);
  if (!text) throw UsageError(fmt::format("no plan {}: configure first, or name it with --plan", file.string()));
  Plan p;
  p.file = file;
  try {
    const json j = json::parse(*text);
    if (const int schema = j.at("schema").get<int>(); schema != 1) {
      throw UsageError(
          fmt::format("{}: plan schema {}, this tool reads 1: configure and build again", file.string(), schema));
    }
    const auto s = [&](const char* key) { return j.value(key, std::string()); };
    p.source = fs::path(j.at("source").get<std::string>()), p.build = fs::path(j.at("build").get<std::string>());
    p.evidence_dir = s("evidence_dir"), p.decisions = s("decisions"), p.ledger = s("ledger");
    p.serial_tree = s("serial_tree"), p.serial_lock = s("serial_lock");
    if (p.evidence_dir.empty()) p.evidence_dir = p.build / "cpize-evidence";
    if (p.decisions.empty()) p.decisions = p.source / "docs" / "cpize-decisions.jsonl";
    if (p.ledger.empty()) p.ledger = p.build / "docs" / "cp_integration_plan.md";
    p.name = s("name"), p.config = s("config"), p.cmake = s("cmake"), p.ctest = s("ctest"),
    p.generator = s("generator");
    p.arguments = s("arguments"), p.scope = s("scope"), p.mode = s("mode"), p.data = s("data"), p.launch = s("launch");
    p.backend = s("backend"), p.model = s("model"), p.ref = s("ref");
    p.multi = j.value("multi", false), p.cuda = j.value("cuda", false);
    p.mpiexec = s("mpiexec");
    p.collected_evidence = s("collected_evidence");
    p.dp = j.value("dp", 1), p.world = j.value("world", 1);
    p.cp = j.value("cp", std::vector<int>{});
    p.focus = strings(j, "focus");
    for (auto& f : strings(j, "configure_inputs")) p.configure_inputs.emplace_back(f);
    const json barriers = j.value("barriers", json::object());
    for (const auto& [phase, ids] : barriers.items()) {
      p.barriers[std::stoi(phase)] = ids.get<std::vector<std::string>>();
    }
    const json delegates = j.value("delegates", json::object());
    for (const auto& [phase, command] : delegates.items()) p.delegates[std::stoi(phase)] = command.get<std::string>();
    for (const auto& t : j.at("tasks")) {
      p.tasks.push_back(read_task(t));
      if (!p.index.emplace(p.tasks.back().id, p.tasks.size() - 1).second) {
        throw UsageError(fmt::format("{}: two tasks are called {}", file.string(), p.tasks.back().id));
      }
    }
  } catch (const json::exception& e) {
    throw UsageError(fmt::format("{}: not a plan: {}", file.string(), e.what()));
  }
  check_edges(p);
  return p;
}

fs::path find_plan(const std::string& given) {
  const auto plans_in = [](const fs::path& dir) {
    std::vector<fs::path> found;
    std::error_code e;
    for (const auto& f : fs::directory_iterator(dir, e)) {
      const std::string name = f.path().filename().string();
      if (name.starts_with("cpize-plan") && name.find('.') == name.rfind(".json")) found.push_back(f.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  };
  std::vector<fs::path> found;
  if (!given.empty()) {
    if (!fs::is_directory(given)) return fs::absolute(given).lexically_normal();
    found = plans_in(given);
  } else {
    found = plans_in(".");
    if (found.empty()) found = plans_in("build");
    if (found.empty()) {
      std::error_code e;
      for (const auto& d : fs::directory_iterator("build", e)) {
        if (d.is_directory()) std::ranges::copy(plans_in(d.path()), std::back_inserter(found));
      }
    }
  }
  if (found.empty()) {
    throw UsageError(fmt::format("no cpize-plan.json in {}: configure first, or name the build directory with --plan",
                                 given.empty() ? "this directory or build/" : given));
  }
  if (found.size() > 1) {
    std::string names;
    for (const auto& f : found) names += "\n  " + f.string();
    throw UsageError("several plans; choose one with --plan:" + names);
  }
  return fs::absolute(found[0]).lexically_normal();
}

}  // namespace cpize::tool
