// The integration plan as a page for people: rendered from evidence and decisions, never read back.
#pragma once
#include <string>

#include "tree.hpp"

namespace cpize::tool {

std::string ledger_text(Tree& tree);

/// Into the build tree; left alone when nothing but the date would change. Returns whether it was written.
bool update_ledger(Tree& tree);

/// The ledger and the artifacts of green tasks, copied from <build>/docs into <source>/docs. A page that names a
/// directory of this machine or its host is not copied: its name is returned.
std::vector<std::string> publish(Tree& tree);

}  // namespace cpize::tool
