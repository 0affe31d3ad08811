// Automatic or manual: who says so, and asking a person once.
#pragma once
#include <string>

#include "tree.hpp"

namespace cpize::tool {

/// The mode of a drive that starts: the command line's word, else the plan's, else the last decision, else the answer
/// of a person at the terminal, else "automatic". A word or an answer that the plan does not settle becomes a decision,
/// so that the next drive goes on in the same mode.
std::string settle_mode(Tree& tree, const std::string& word);

/// The mode as it stands, without asking.
std::string mode_now(const Tree& tree);

}  // namespace cpize::tool
