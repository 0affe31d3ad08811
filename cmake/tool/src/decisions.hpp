// What people decided (committed with the sources) and what happened (kept in the build tree), one JSON object a line.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "plan.hpp"

namespace cpize::tool {

struct Decisions {
  std::vector<nlohmann::json> entries;
  std::map<std::string, int> epoch;           // how often a task was reopened
  std::map<std::string, std::string> reason;  // of its last reopening
  std::set<std::string> approved;             // tasks that manual mode may prove; a reopening withdraws it
  std::string mode;                           // "manual", "automatic", or "" while nobody chose
};

/// A line that cannot be read is a UsageError: a lost epoch would let old evidence count again.
Decisions read_decisions(const fs::path& file);

/// JSON text; bytes that are no UTF-8 (a program's output) are replaced, not refused.
std::string to_text(const nlohmann::json& j, int indent = -1);

/// Adds the time and appends.
void record(const fs::path& file, nlohmann::json entry);

/// Lines of the build tree's log, those that cannot be read left out.
std::vector<nlohmann::json> read_log(const fs::path& file);

}  // namespace cpize::tool
