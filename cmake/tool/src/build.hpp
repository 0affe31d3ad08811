// Building targets of the tree before they are measured: a stale binary must never earn a green.
#pragma once
#include <string>
#include <vector>

#include "child.hpp"
#include "tree.hpp"

namespace cpize::tool {

/// `cmake --build` of these targets at once, into `log`. The caller holds the build lock. With `keep_going` the other
/// targets are still built when one fails.
ChildResult build_targets(const Plan& plan, const std::vector<std::string>& targets, const fs::path& log,
                          bool keep_going);

/// Build tools compare time stamps. A source that was put back with an old time stamp (mv, cp -p, tar) would keep the
/// object of another version; such a file, changed since `program` was linked but dated earlier, is dated now. Its
/// content is not touched. Returns the files.
std::vector<std::string> refresh_time_stamps(const std::vector<std::string>& sources, const fs::path& program);

}  // namespace cpize::tool
