// The integration plan as a page for people: rendered from evidence and decisions, never read back.
#pragma once
#include <string>

#include "tree.hpp"

namespace cpize::tool {

std::string ledger_text(Tree& tree);

/// Into the build tree; left alone when nothing but the date would change. Returns whether it was written.
bool update_ledger(Tree& tree);

struct Published {
  std::vector<std::string> written, refused;
};

/// The ledger and the artifacts of green tasks, copied from <build>/docs into <source>/docs where they differ. A page
/// that names a directory of this machine or its host is refused.
Published publish(Tree& tree);

}  // namespace cpize::tool
