// The state of a task, derived from evidence, locks and decisions; it is stored nowhere.
#pragma once
#include <string>

#include "tree.hpp"

namespace cpize::tool {

struct State {
  std::string name;  // todo, in_flight, done, dirty, blocked, out-of-scope
  std::string why;   // "" when done
};

State state_of(Tree& tree, const Task& task);

/// What green evidence holds, in a few words: "7 cells, worst difference 1.2e-13 of 3e-12 allowed; 10 not measurable
/// here: no GPU".
std::string proof_of(const Verdict& verdict);

/// "10 not measurable here (no GPU), 3 of them stale"; "" where every required cell has evidence or can be measured.
std::string absent_cells(const Verdict& verdict);

}  // namespace cpize::tool
