#include "evidence.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "decisions.hpp"
#include "files.hpp"
#include "sha256.hpp"
#include "text.hpp"

namespace cpize::tool {
namespace {

using nlohmann::json;

constexpr std::size_t kSummaryBytes = 4096;
constexpr std::size_t kKeptKeys = 32;  // a reverted edit finds its old evidence again
constexpr std::string_view kDetails = ".details.json";

bool is_details(const std::string& name) { return name.ends_with(kDetails); }

std::string clip(const std::string& s, std::size_t n) { return s.size() <= n ? s : s.substr(0, n - 3) + "..."; }

json to_json(const Cell& c, int run, std::size_t width, bool counters_and_names) {
  json j{{"ok", c.judgement.ok}, {"compared", c.judgement.compared}, {"run", run}};
  if (!c.judgement.ok) j["why"] = clip(c.judgement.why, width + 60);
  if (c.judgement.worst) {
    const Worst& w = *c.judgement.worst;
    j["worst"] = {{"difference", w.difference}, {"tolerance", w.tolerance}};
    if (counters_and_names) {
      j["worst"]["name"] = clip(w.name, width);
      j["worst"]["derivation"] = clip(w.derivation, width);
    }
  }
  if (!c.judgement.not_applicable.empty() && counters_and_names) j["not_applicable"] = c.judgement.not_applicable;
  return j;
}

std::optional<Evidence> from_json(const json& j) {
  if (!j.is_object() || j.value("schema", 0) != 1 || j.value("rules", 0) != kRules) return std::nullopt;
  Evidence e;
  e.task = j.value("task", std::string()), e.key = j.value("key", std::string());
  e.machine = j.value("machine", std::string()), e.artifact = j.value("artifact", std::string());
  std::vector<Run> runs;
  for (const auto& r : j.at("runs")) {
    runs.push_back({e.machine, r.value("when", std::string()), r.value("seconds", 0.0),
                    r.value("facts", std::map<std::string, std::string>{})});
  }
  for (const auto& [name, c] : j.at("cells").items()) {
    Cell cell;
    cell.judgement.ok = c.at("ok").get<bool>();
    cell.judgement.why = c.value("why", std::string());
    cell.judgement.compared = c.value("compared", 0);
    if (c.contains("worst")) {
      const json& w = c["worst"];
      cell.judgement.worst = Worst{w.value("name", std::string()), w.value("derivation", std::string()),
                                   w.at("difference").get<double>(), w.at("tolerance").get<double>()};
      if (!(w.at("difference").get<double>() <= w.at("tolerance").get<double>())) cell.judgement.ok = false;
    }
    cell.judgement.not_applicable = c.value("not_applicable", std::vector<std::string>{});
    cell.run = runs.at(c.at("run").get<std::size_t>());
    e.cells[name] = std::move(cell);
  }
  return e;
}

std::optional<Evidence> read_summary(const fs::path& file) {
  const auto text = read_file(file);
  if (!text) return std::nullopt;
  return evidence_from(json::parse(*text, nullptr, false));
}

/// Facts that say which program, and which way through it, was measured: no summary leaves them out.
bool tells_the_path(const std::string& fact) {
  return fact == "program" || fact == "ranks_per_gpu" || fact == "peer_copies";
}

}  // namespace

std::optional<Evidence> evidence_from(const json& summary) {
  try {
    return from_json(summary);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::string this_machine() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return sha256(std::string("cpize machine ") + name).substr(0, 8);
}

std::string summary_text(const Evidence& e, const std::string& details_hash) {
  std::vector<const Run*> runs;
  std::map<std::string, int> run_of;
  for (const auto& [name, c] : e.cells) {
    const auto same =
        std::ranges::find_if(runs, [&](const Run* r) { return r->when == c.run.when && r->facts == c.run.facts; });
    run_of[name] = static_cast<int>(same - runs.begin());
    if (same == runs.end()) runs.push_back(&c.run);
  }
  // three attempts to fit, each keeps less prose; the numbers that the verdict rests on always stay
  for (const std::size_t width : {160, 48, 16, 0}) {
    json j{{"schema", 1},  {"rules", kRules},      {"task", e.task},
           {"key", e.key}, {"machine", e.machine}, {"details", details_hash}};
    if (!e.artifact.empty()) j["artifact"] = e.artifact;
    j["runs"] = json::array();
    for (const Run* r : runs) {
      json facts = json::object();
      for (const auto& [k, v] : r->facts) {
        if (width > 0 || tells_the_path(k)) facts[clip(k, 40)] = clip(v, std::max<std::size_t>(width, 20));
      }
      j["runs"].push_back({{"when", r->when}, {"seconds", std::round(r->seconds * 1000) / 1000}, {"facts", facts}});
    }
    j["cells"] = json::object();
    for (const auto& [name, c] : e.cells)
      j["cells"][name] = to_json(c, run_of[name], std::max<std::size_t>(width, 20), width > 0);
    std::string s = to_text(j, width == 160 ? 1 : -1) + "\n";
    if (s.size() > kSummaryBytes) s = to_text(j) + "\n";
    if (s.size() <= kSummaryBytes || width == 0) return s;
  }
  return "";
}

fs::path EvidenceStore::folder(const std::string& task) const { return directory_ / replace_all(task, "/", "_"); }

fs::path EvidenceStore::summary_file(const std::string& task, const std::string& key,
                                     const std::string& machine) const {
  return folder(task) / fmt::format("{}.{}.json", key, machine);
}

std::vector<Evidence> EvidenceStore::load(const std::string& task, const std::string& key) const {
  std::vector<fs::path> files;
  std::error_code e;
  for (const auto& f : fs::directory_iterator(folder(task), e)) {
    const std::string name = f.path().filename().string();
    if (name.starts_with(key + ".") && name.ends_with(".json") && !is_details(name)) files.push_back(f.path());
  }
  const std::string mine = this_machine();
  std::sort(files.begin(), files.end());
  std::stable_partition(files.begin(), files.end(),
                        [&](const fs::path& f) { return f.string().ends_with("." + mine + ".json"); });
  std::vector<Evidence> out;
  for (const auto& f : files) {
    // the name is only where to look: the content must say the same
    if (auto ev = read_summary(f); ev && ev->key == key && ev->task == task) out.push_back(std::move(*ev));
  }
  return out;
}

std::set<std::string> EvidenceStore::cells_of_other_keys(const std::string& task, const std::string& key) const {
  std::set<std::string> cells;
  std::error_code e;
  for (const auto& f : fs::directory_iterator(folder(task), e)) {
    const std::string name = f.path().filename().string();
    if (name.starts_with(key + ".") || !name.ends_with(".json") || is_details(name)) continue;
    if (const auto ev = read_summary(f); ev && ev->task == task) {
      for (const auto& [cell, judged] : ev->cells) cells.insert(cell);
    }
  }
  return cells;
}

std::optional<std::map<std::string, std::string>> EvidenceStore::newest_inputs(const std::string& task) const {
  fs::path newest;
  fs::file_time_type time;
  std::error_code e;
  for (const auto& f : fs::directory_iterator(folder(task), e)) {
    const std::string name = f.path().filename().string();
    if (!is_details(name)) continue;
    const auto t = f.last_write_time(e);
    if (!e && (newest.empty() || t > time)) newest = f.path(), time = t;
  }
  if (newest.empty()) return std::nullopt;
  const json j = json::parse(read_file(newest).value_or(""), nullptr, false);
  if (!j.is_object()) return std::map<std::string, std::string>{};
  return j.value("inputs", std::map<std::string, std::string>{});
}

json EvidenceStore::details(const std::string& task, const std::string& key) const {
  const fs::path file = folder(task) / fmt::format("{}.{}{}", key, this_machine(), kDetails);
  json j = json::parse(read_file(file).value_or(""), nullptr, false);
  return j.is_object() ? j : json::object();
}

void EvidenceStore::save(const Evidence& e, const json& details) const {
  const std::string text = to_text(details, 1) + "\n";
  write_atomically(folder(e.task) / fmt::format("{}.{}{}", e.key, e.machine, kDetails), text);
  write_atomically(summary_file(e.task, e.key, e.machine), summary_text(e, sha256(text)));
  prune(e.task);
}

void EvidenceStore::prune(const std::string& task) const {
  std::map<std::string, fs::file_time_type> newest;  // by key
  std::error_code e;
  for (const auto& f : fs::directory_iterator(folder(task), e)) {
    const std::string name = f.path().filename().string();
    // what a killed writer left behind; a living one needs milliseconds
    if (name.find(".json.tmp") != std::string::npos) {
      if (fs::file_time_type::clock::now() - f.last_write_time(e) > std::chrono::minutes(10)) fs::remove(f.path(), e);
      continue;
    }
    const std::string key = name.substr(0, 32);
    auto& t = newest.try_emplace(key, fs::file_time_type::min()).first->second;
    t = std::max(t, f.last_write_time(e));
  }
  if (newest.size() <= kKeptKeys) return;
  std::vector<std::pair<fs::file_time_type, std::string>> order;
  for (const auto& [key, t] : newest) order.emplace_back(t, key);
  std::sort(order.rbegin(), order.rend());
  for (const auto& f : fs::directory_iterator(folder(task), e)) {
    const std::string key = f.path().filename().string().substr(0, 32);
    const auto old =
        std::find_if(order.begin() + kKeptKeys, order.end(), [&](const auto& o) { return o.second == key; });
    if (old != order.end()) fs::remove(f.path(), e);
  }
}

}  // namespace cpize::tool
