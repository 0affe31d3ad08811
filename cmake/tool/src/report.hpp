// What a drive has come to: evidence reused and new, figures, and what is still open.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tree.hpp"

namespace cpize::tool {

/// What is green now: task -> key. A drive writes it into the log when it begins, so that a report knows what it
/// reused.
std::map<std::string, std::string> green_keys(Tree& tree);

/// The first lines of the report, for the end of a drive.
std::string headline(Tree& tree);

/// Reopenings whose tasks are not green since: "transition: memory grows (2024-02-29T12:00:00Z)".
std::vector<std::string> unresolved_reopenings(Tree& tree);

}  // namespace cpize::tool
