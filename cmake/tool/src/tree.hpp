// One build tree as it stands now: the plan, the decisions, the keys, the evidence, and what they say about each task.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "collected.hpp"
#include "decisions.hpp"
#include "evidence.hpp"
#include "files.hpp"
#include "keys.hpp"
#include "launch.hpp"
#include "plan.hpp"

namespace cpize::tool {

struct Verdict {
  enum Kind {
    kGreen,
    kNoCode,   // declared, nothing measures it yet
    kNever,    // never measured
    kMissing,  // some required cells lack evidence at this key
    kStale,    // evidence of another key only
    kRed,      // measured at this key and refused, or could not be measured
    kNoInput,  // an input, or hardware that the plan asks for, which the machine or the checkout lacks
  };
  Kind kind = kNever;
  std::string why;                            // one line; "" when green
  std::vector<std::string> wanted;            // cells to measure
  std::map<std::string, Cell> cells;          // the required cells that are green, with how they were measured
  std::map<std::string, std::string> absent;  // required cells without evidence that cannot be measured here: why
  std::set<std::string> stale_absent;         // those of them that have evidence of an older key
  bool green() const { return kind == kGreen; }
};

/// What forbids a task to run now: the task at the root of it, and why that one is not green.
struct Root {
  std::string task, why;
};

class Tree {
 public:
  explicit Tree(const fs::path& plan_file);

  const Plan& plan() const { return plan_; }
  const Decisions& decisions() const { return decisions_; }
  const EvidenceStore& store() const { return store_; }
  /// Evidence of every machine for this key: the store's, then what was collected with the sources.
  std::vector<Evidence> evidence_for(const std::string& task, const std::string& key) const;
  /// The machine as it was when the plan was read.
  const Machine& machine() const { return machine_; }
  Keys& keys() { return *keys_; }
  FileCache& files() { return files_; }

  /// Reads plan, decisions and files again.
  void refresh();

  /// The task's own evidence, whatever its producers say.
  const Verdict& own(const std::string& task);
  /// The deepest task at or above `task` (producers, map and infra) that is not green, or nullopt if all are.
  const std::optional<Root>& root(const std::string& task);

  /// Why the last attempt at this key ended without evidence (it did not build, say). Cleared by the next measurement.
  void note_attempt(const std::string& task, const std::string& why) const;
  void clear_attempt(const std::string& task) const;

 private:
  Verdict judge(const Task& task);
  std::string why_stale(const Task& task, int depth);
  std::string artifact_fault(const Task& task, const std::vector<Evidence>& evidence);
  fs::path attempt_file(const std::string& task) const;

  fs::path plan_file_;
  Plan plan_;
  Decisions decisions_;
  FileCache files_;
  std::unique_ptr<Keys> keys_;
  EvidenceStore store_;
  CollectedEvidence collected_;
  Machine machine_;
  std::unordered_map<std::string, Verdict> verdicts_;
  std::unordered_map<std::string, std::optional<Root>> roots_;
};

}  // namespace cpize::tool
