// The subcommands; each returns the exit code.
#pragma once
#include <string>
#include <vector>

#include "on_red.hpp"
#include "tree.hpp"

namespace cpize::tool {

int prove(Tree& tree, const std::string& task, const std::vector<std::string>& more_cells);
/// The same judgement, read-only. No task: every task in scope.
int gate(Tree& tree, const std::string& task);
int gate_before(Tree& tree, int phase);
int show_plan(Tree& tree);
int verify_plan(const Plan& plan);
int show_status(Tree& tree);
int show_key(Tree& tree, const std::string& task);
int write_ledger(Tree& tree);
int reopen(Tree& tree, const std::vector<std::string>& what, const std::string& why);
int check_lock(Tree& tree);
int update_lock(Tree& tree, const std::string& why);
int show_gpus();
/// Becomes the command, which sees only the leased GPUs.
int run_with_gpus(int count, std::vector<std::string> command);

/// `kind`: "port", "feature", or "" for what the task's phase says.
int scaffold(Tree& tree, const std::string& task, const std::string& kind);
/// Exit 1 with reopenings that are not green since.
int report(Tree& tree, bool publish_pages);
/// Wave 0: the one that a manual drive stops before.
int approve(Tree& tree, int wave, const std::string& why);

struct DriveOptions {
  int jobs = 0;  // 0: as many as there are processors
  bool quiet = false;
  std::string mode;  // "manual", "automatic", or "" where the command line does not say
  OnRed on_red;
};
int drive(const fs::path& plan_file, const DriveOptions& options);

}  // namespace cpize::tool
