#include "declaration.hpp"

#include <algorithm>
#include <cctype>

namespace cpize::tool {
namespace {

std::size_t skip_blanks(const std::string& s, std::size_t i) {
  while (i < s.size() && std::isspace(static_cast<unsigned char>(s[i]))) ++i;
  return i;
}

// behind the bracket "[=[ ... ]=]" that begins at i, or i where none begins
std::size_t skip_bracket(const std::string& s, std::size_t i) {
  std::size_t n = i + 1;
  while (n < s.size() && s[n] == '=') ++n;
  if (s[i] != '[' || n >= s.size() || s[n] != '[') return i;
  const std::string end = "]" + std::string(n - i - 1, '=') + "]";
  const std::size_t close = s.find(end, n);
  return close == std::string::npos ? s.size() : close + end.size();
}

// the ')' that closes the '(' at `open`
std::optional<std::size_t> closing(const std::string& s, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < s.size();) {
    const char c = s[i];
    if (c == '\\') {
      i += 2;
      continue;
    }
    if (c == '"') {
      for (++i; i < s.size() && s[i] != '"'; ++i) i += s[i] == '\\' ? 1 : 0;
    } else if (c == '#') {
      const std::size_t behind = i + 1 < s.size() ? skip_bracket(s, i + 1) : i + 1;
      i = behind > i + 1 ? behind : std::min(s.find('\n', i), s.size());
      continue;
    } else if (c == '[') {
      if (const std::size_t behind = skip_bracket(s, i); behind > i) {
        i = behind;
        continue;
      }
    } else if (c == '(') {
      ++depth;
    } else if (c == ')' && --depth == 0) {
      return i;
    }
    ++i;
  }
  return std::nullopt;
}

std::optional<Declaration> declaration_at(const std::string& text, std::size_t begin,
                                          const std::vector<std::string>& names) {
  Declaration d;
  d.begin = begin;
  while (d.begin < text.size() && (text[d.begin] == ' ' || text[d.begin] == '\t')) ++d.begin;
  d.indent = text.substr(begin, d.begin - begin);
  std::size_t i = d.begin;
  while (i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_')) ++i;
  const std::size_t open = skip_blanks(text, i);
  if (!text.substr(d.begin, i - d.begin).starts_with("cpize_") || open >= text.size() || text[open] != '(')
    return std::nullopt;
  const std::size_t first = skip_blanks(text, open + 1);
  std::size_t end = first;
  while (end < text.size() && !std::isspace(static_cast<unsigned char>(text[end])) && text[end] != ')') ++end;
  if (std::ranges::find(names, text.substr(first, end - first)) == names.end()) return std::nullopt;
  const auto close = closing(text, open);
  if (!close) return std::nullopt;
  d.close = *close;
  return d;
}

}  // namespace

std::optional<Declaration> find_declaration(const std::string& text, int line, const std::vector<std::string>& names) {
  std::optional<Declaration> first, at_line;
  std::size_t begin = 0;
  for (int n = 1; begin < text.size() && !at_line; ++n) {
    const auto d = declaration_at(text, begin, names);
    if (d && n == line) at_line = d;
    if (d && !first) first = d;
    begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
  }
  return at_line ? at_line : first;
}

}  // namespace cpize::tool
