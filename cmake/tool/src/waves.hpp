// The next wave of a drive: which tasks are ready, and which of them manual mode lets through.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tree.hpp"

namespace cpize::tool {

struct Wave {
  int number = 0;
  std::vector<std::string> tasks;  // by rank; empty: nothing is ready
};

/// Tasks of the lowest wave that has ready ones: their own evidence is missing, everything they stand on is green, and
/// `skip` does not leave them out.
Wave next_wave(Tree& tree, const std::function<bool(const Task&)>& skip);

/// Starting a drive approves the plan's first wave; every other task needs a decision.
bool is_approved(Tree& tree, const Task& task);

/// The wave that a manual drive stops before: the first one with ready tasks that nobody approved.
Wave next_unapproved(Tree& tree);

/// In manual mode: it could be measured now, and waits for nothing but a decision.
bool awaits_approval(Tree& tree, const Task& task);

/// "tri_mul_out (adapt, risk medium: new all-to-all)"
std::string in_words(const Task& task);

}  // namespace cpize::tool
