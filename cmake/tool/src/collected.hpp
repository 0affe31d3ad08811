// Evidence of other machines that travels with the sources: files <name>.<machine>.jsonl in the plan's folder
// (docs/evidence), one line a task. docs/evidence.md describes them.
#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "evidence.hpp"

namespace cpize::tool {

class Tree;

class CollectedEvidence {
 public:
  /// An empty path, a missing folder, damaged lines and those judged under older rules: nothing.
  explicit CollectedEvidence(const fs::path& folder);

  std::vector<Evidence> load(const std::string& task, const std::string& key) const;
  std::set<std::string> cells_of_other_keys(const std::string& task, const std::string& key) const;

 private:
  std::map<std::string, std::vector<Evidence>> by_task_;
};

/// `cpize evidence --collect`: writes this store's green evidence of cells on GPUs, at the present keys, into the
/// plan's folder: cells.<machine>.jsonl holds the summaries, details.<machine>.jsonl the numbers. Lines of other tasks,
/// and of tasks without such evidence here, stay.
int collect_evidence(Tree& tree);

/// `cpize evidence`: every required cell, and where its evidence comes from.
int show_evidence(Tree& tree, const std::string& task);

}  // namespace cpize::tool
