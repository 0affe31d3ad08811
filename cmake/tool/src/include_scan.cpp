#include "include_scan.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace cpize::tool {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : s_(text) {}

  std::vector<Include> run() {
    bool line_start = true;
    while (i_ < s_.size()) {
      const char c = s_[i_];
      if (c == '\n') {
        line_start = true;
        step();
      } else if (skip_blank_or_comment()) {
        continue;
      } else if (line_start && (c == '#' || starts("%:"))) {
        i_ += c == '#' ? 1 : 2;
        directive();
        line_start = false;
      } else {
        line_start = false;
        if (c == '"') {
          is_raw_string() ? raw_string() : literal('"');
        } else if (c == '\'') {
          in_number() ? step() : literal('\'');
        } else {
          step();
        }
      }
    }
    return std::move(out_);
  }

 private:
  bool starts(std::string_view t) const { return s_.substr(i_, t.size()) == t; }
  void step() {
    if (s_[i_] == '\n') ++line_;
    ++i_;
  }
  // length of a backslash-newline at i_, or 0
  std::size_t continuation() const {
    if (starts("\\\n")) return 2;
    if (starts("\\\r\n")) return 3;
    return 0;
  }
  bool skip_blank_or_comment() {
    if (const std::size_t n = continuation()) {
      i_ += n;
      ++line_;
      return true;
    }
    if (s_[i_] == ' ' || s_[i_] == '\t' || s_[i_] == '\r' || s_[i_] == '\f' || s_[i_] == '\v' ||
        starts("\xef\xbb\xbf")) {
      ++i_;
      if (s_[i_ - 1] == '\xef') i_ += 2;
      return true;
    }
    if (starts("//")) {
      while (i_ < s_.size() && s_[i_] != '\n') {
        if (const std::size_t n = continuation()) {
          i_ += n;
          ++line_;
        } else {
          ++i_;
        }
      }
      return true;
    }
    if (starts("/*")) {
      i_ += 2;
      while (i_ < s_.size() && !starts("*/")) step();
      i_ = std::min(i_ + 2, s_.size());
      return true;
    }
    return false;
  }
  void directive() {
    while (i_ < s_.size() && s_[i_] != '\n' && skip_blank_or_comment()) {
    }
    std::size_t b = i_;
    while (i_ < s_.size() && is_word(s_[i_])) ++i_;
    const std::string_view word = s_.substr(b, i_ - b);
    if (word != "include" && word != "include_next" && word != "import") return;
    while (i_ < s_.size() && s_[i_] != '\n' && skip_blank_or_comment()) {
    }
    if (i_ >= s_.size() || s_[i_] == '\n') return;
    const int line = line_;
    if (s_[i_] == '"' || s_[i_] == '<') {
      const char open = s_[i_], close = open == '"' ? '"' : '>';
      b = ++i_;
      while (i_ < s_.size() && s_[i_] != close && s_[i_] != '\n') ++i_;
      if (i_ < s_.size() && s_[i_] == close) {
        out_.push_back({std::string(s_.substr(b, i_ - b)), static_cast<Include::Kind>(open), line});
        ++i_;
      }
      return;
    }
    b = i_;
    while (i_ < s_.size() && s_[i_] != '\n') ++i_;
    std::size_t e = i_;
    while (e > b && std::isspace(static_cast<unsigned char>(s_[e - 1]))) --e;
    out_.push_back({std::string(s_.substr(b, e - b)), Include::kMacro, line});
  }
  // a literal ends at its quote or, broken, at the end of the line
  void literal(char quote) {
    ++i_;
    while (i_ < s_.size() && s_[i_] != quote && s_[i_] != '\n') {
      if (const std::size_t n = continuation()) {
        i_ += n;
        ++line_;
      } else {
        i_ += s_[i_] == '\\' && i_ + 1 < s_.size() && s_[i_ + 1] != '\n' ? 2 : 1;
      }
    }
    if (i_ < s_.size() && s_[i_] == quote) ++i_;
  }
  // the word that ends at i_: R, u8R, uR, UR, LR make a raw string
  std::string_view word_before() const {
    std::size_t b = i_;
    while (b > 0 && is_word(s_[b - 1])) --b;
    return s_.substr(b, i_ - b);
  }
  bool is_raw_string() const {
    const std::string_view w = word_before();
    return w == "R" || w == "u8R" || w == "uR" || w == "UR" || w == "LR";
  }
  bool in_number() const {
    std::size_t b = i_;
    while (b > 0 && (is_word(s_[b - 1]) || s_[b - 1] == '\'' || s_[b - 1] == '.')) --b;
    return b < i_ && std::isdigit(static_cast<unsigned char>(s_[b])) && i_ + 1 < s_.size() && is_word(s_[i_ + 1]);
  }
  void raw_string() {
    const std::size_t open = s_.find('(', i_);
    if (open == std::string_view::npos || open - i_ > 17) return step();
    std::string close(")");
    close.append(s_.substr(i_ + 1, open - i_ - 1)).append("\"");
    const std::size_t end = s_.find(close, open);
    const std::size_t stop = end == std::string_view::npos ? s_.size() : end + close.size();
    while (i_ < stop) step();
  }

  std::string_view s_;
  std::size_t i_ = 0;
  int line_ = 1;
  std::vector<Include> out_;
};

}  // namespace

std::vector<Include> scan_includes(std::string_view text) { return Scanner(text).run(); }

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

}  // namespace cpize::tool
