#include "decisions.hpp"

#include <fmt/core.h>

#include "errors.hpp"
#include "files.hpp"
#include "text.hpp"

namespace cpize::tool {

using nlohmann::json;

Decisions read_decisions(const fs::path& file) {
  Decisions d;
  const auto text = read_file(file);
  if (!text) return d;
  int line = 0;
  for (std::size_t b = 0; b < text->size(); ++line) {
    const std::size_t e = std::min(text->find('\n', b), text->size());
    const std::string s = text->substr(b, e - b);
    b = e + 1;
    if (s.find_first_not_of(" \t\r") == std::string::npos) continue;
    json j = json::parse(s, nullptr, false);
    const auto bad = [&](const char* what) {
      return UsageError(
          fmt::format("{}:{}: {}; decisions are never dropped: repair the line", file.string(), line + 1, what));
    };
    if (!j.is_object() || !j.contains("event")) throw bad("not a decision");
    const bool reopens = j["event"] == "reopen", approves = j["event"] == "approve";
    if (reopens || approves) {
      if (!j.contains("tasks") || !j["tasks"].is_array())
        throw bad(reopens ? "a reopening without tasks" : "an approval without tasks");
      for (const auto& name : j["tasks"]) {
        if (!name.is_string()) throw bad("a task that is no text");
        const auto task = name.get<std::string>();
        if (approves) {
          d.approved.insert(task);
          continue;
        }
        ++d.epoch[task];
        d.reason[task] = j.value("why", std::string());
        d.approved.erase(task);
      }
    }
    if (j["event"] == "mode") d.mode = j.value("mode", std::string());
    d.entries.push_back(std::move(j));
  }
  return d;
}

std::string to_text(const json& j, int indent) { return j.dump(indent, ' ', false, json::error_handler_t::replace); }

void record(const fs::path& file, json entry) {
  entry["when"] = now();
  append_line(file, to_text(entry));
}

std::vector<json> read_log(const fs::path& file) {
  std::vector<json> out;
  for (const auto& line : split(read_file(file).value_or(""))) {
    json j = json::parse(line, nullptr, false);
    if (j.is_object()) out.push_back(std::move(j));
  }
  return out;
}

}  // namespace cpize::tool
