// One declaration in a CMake file: where it begins, where its closing parenthesis is.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace cpize::tool {

struct Declaration {
  std::size_t begin = 0, close = 0;  // offsets of the command's first letter and of its ')'
  std::string indent;                // blanks before the command
};

/// The command at `line` (from 1) whose first argument is one of `names`. Strings, comments and bracket arguments may
/// hold parentheses. nullopt: the line holds something else (an id out of a variable, say).
std::optional<Declaration> find_declaration(const std::string& text, int line, const std::vector<std::string>& names);

}  // namespace cpize::tool
