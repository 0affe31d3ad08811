// Small text helpers: splitting, time stamps, the tail of a log, nearest names.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace cpize::tool {

/// Non-empty parts of `s` between `separator`s.
std::vector<std::string> split(std::string_view s, char separator = '\n');
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string replace_all(std::string s, std::string_view from, std::string_view to);

/// UTC, ISO 8601, to the second.
std::string now();

/// The last `lines` lines, at most `bytes` bytes.
std::string tail(const std::string& text, int lines = 20, std::size_t bytes = 2000);

/// The candidate with the smallest edit distance to `name`, or "" if none is near.
std::string nearest(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace cpize::tool
