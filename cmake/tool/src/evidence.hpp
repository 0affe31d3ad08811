// The evidence store: what was measured, by task, key and machine. docs/evidence.md describes the files.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "judge.hpp"
#include "plan.hpp"

namespace cpize::tool {

/// How a cell was measured: the facts that are recorded and shown, but not part of the key.
struct Run {
  std::string machine, when;
  double seconds = 0;
  std::map<std::string, std::string> facts;  // compiler, torch, program (a hash) and what the program said
};

struct Cell {
  CellJudgement judgement;
  Run run;
};

/// One summary file.
struct Evidence {
  std::string task, key, machine;
  std::map<std::string, Cell> cells;
  std::string artifact;  // content hash, "" if the task has none
};

class EvidenceStore {
 public:
  explicit EvidenceStore(fs::path directory) : directory_(std::move(directory)) {}

  /// Every machine's evidence for this key, this machine's first. A damaged file counts as absent.
  std::vector<Evidence> load(const std::string& task, const std::string& key) const;
  /// Cells that evidence of any other key holds.
  std::set<std::string> cells_of_other_keys(const std::string& task, const std::string& key) const;
  /// What the newest evidence of any key was measured from (name -> hash), if there is any.
  std::optional<std::map<std::string, std::string>> newest_inputs(const std::string& task) const;
  /// The details of this machine's evidence for a key; an empty object if there are none.
  nlohmann::json details(const std::string& task, const std::string& key) const;
  /// Details first, then the summary that names their hash, each atomically; then forgets all but the newest keys.
  void save(const Evidence& evidence, const nlohmann::json& details) const;

  fs::path summary_file(const std::string& task, const std::string& key, const std::string& machine) const;

 private:
  void prune(const std::string& task) const;
  fs::path folder(const std::string& task) const;
  fs::path directory_;
};

/// Of a summary's JSON; nullopt where it is damaged or was judged under older rules.
std::optional<Evidence> evidence_from(const nlohmann::json& summary);

/// A short hash of the host name; the name itself is never written.
std::string this_machine();

/// The summary's JSON text, at most 4 KB: what does not fit stays in the details.
std::string summary_text(const Evidence& evidence, const std::string& details_hash);

}  // namespace cpize::tool
