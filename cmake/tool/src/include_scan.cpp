#include "include_scan.hpp"

#include <algorithm>
#include <array>

#include "code_walk.hpp"

namespace cpize::tool {

std::vector<Include> scan_includes(std::string_view text) {
  std::vector<Include> out;
  CodeWalk walk(text);
  for (Piece p; walk.next(p);) {
    if (p.kind != Piece::kHeader) continue;
    const char open = p.text[0];
    if (open == '"' || open == '<') {
      const bool closed = p.text.size() > 1 && p.text.back() == (open == '"' ? '"' : '>');
      if (closed)
        out.push_back({std::string(p.text.substr(1, p.text.size() - 2)), static_cast<Include::Kind>(open), p.line});
    } else {
      while (is_blank(p.text.back())) p.text.remove_suffix(1);
      out.push_back({std::string(p.text), Include::kMacro, p.line});
    }
  }
  return out;
}

bool is_code(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return true;  // headers without an extension exist
  static constexpr std::array<std::string_view, 16> kExtensions{".c",   ".cc",  ".cpp", ".cxx", ".cu",  ".cuh",
                                                                ".h",   ".hh",  ".hpp", ".hxx", ".inc", ".inl",
                                                                ".ipp", ".tpp", ".ixx", ".txx"};
  for (const auto e : kExtensions) {
    if (name.substr(dot) == e) return true;
  }
  return false;
}

bool is_named_as_code(std::string_view path) {
  return path.substr(path.rfind('/') + 1).find('.') != std::string_view::npos && is_code(path);
}

}  // namespace cpize::tool
