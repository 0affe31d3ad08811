// Finds the #include lines of a C++ source text without preprocessing it.
//
// Conditions are not evaluated: a header named in a branch that is not compiled counts too. More is safe, less is not.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace cpize::tool {

struct Include {
  enum Kind : char { kQuoted = '"', kAngle = '<', kMacro = 'm' };
  std::string name;  // for kMacro: the text after #include
  Kind kind;
  int line;
  bool operator==(const Include&) const = default;
};

/// What looks like one inside a comment or a literal is none (code_walk.hpp).
std::vector<Include> scan_includes(std::string_view text);

/// True for files that a C++ compiler may include or compile, by extension.
bool is_code(std::string_view path);

/// The same without files that have no extension: those may be headers, or just as well a README or data.
bool is_named_as_code(std::string_view path);

}  // namespace cpize::tool
