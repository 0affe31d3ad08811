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

/// The cpize_ command at `line` (from 1) whose first argument is one of `names`, else the first such command of the
/// file: lines move when it is edited after the configure. Strings, comments and bracket arguments may hold
/// parentheses. nullopt: there is none (an id out of a variable, say).
std::optional<Declaration> find_declaration(const std::string& text, int line, const std::vector<std::string>& names);

}  // namespace cpize::tool
