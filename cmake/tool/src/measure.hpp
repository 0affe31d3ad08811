// One measurement: runs the task's program on some cells, checks that nothing changed meanwhile, records evidence.
#pragma once
#include <string>
#include <vector>

#include "tree.hpp"

namespace cpize::tool {

struct Measured {
  bool recorded = false;
  std::string why;  // when not recorded
  bool show_log = false;
  fs::path log;
  double seconds = 0;
};

/// The caller holds the task's lock and has built its target. The tree is refreshed on return.
Measured measure(Tree& tree, const std::string& task, const std::vector<std::string>& cells);

}  // namespace cpize::tool
