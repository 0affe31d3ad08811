#include "code_walk.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

namespace cpize::tool {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// what code is made of; $, \u00e9 or UTF-8 in a name are understood by some
bool is_basic(char c) {
  return is_word(c) || std::string_view("!#%&()*+,-./:;<=>?[]^{|}~'").find(c) != std::string_view::npos;
}

}  // namespace

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

bool CodeWalk::next(Piece& piece) {
  if (i_ >= s_.size()) return false;
  const std::size_t begin = i_;
  piece.line = line_;
  piece.kind = advance();
  piece.text = s_.substr(begin, i_ - begin);
  line_ += static_cast<int>(std::ranges::count(piece.text, '\n'));
  return true;
}

Piece::Kind CodeWalk::advance() {
  if (s_[i_] == '\n') {
    ++i_;
    inside_ = Inside::kLineStart;
    directive_ = false;
    return Piece::kNewline;
  }
  if (at_blank_or_comment()) {
    skip_blank_or_comment();
    return Piece::kBlank;
  }
  const Inside before = std::exchange(inside_, Inside::kText);
  if (before == Inside::kLineStart && (s_[i_] == '#' || starts("%:"))) {
    i_ += s_[i_] == '#' ? 1 : 2;
    inside_ = Inside::kHash;
    directive_ = true;
    return Piece::kHash;
  }
  if (before == Inside::kHash && is_word(s_[i_])) {
    const std::size_t begin = i_;
    while (i_ < s_.size() && is_word(s_[i_])) ++i_;
    const std::string_view word = s_.substr(begin, i_ - begin);
    if (word == "include" || word == "include_next" || word == "import") inside_ = Inside::kInclude;
    return Piece::kCode;
  }
  if (before == Inside::kInclude) {
    skip_header();
    return Piece::kHeader;
  }
  if (!at_literal()) {
    skip_code();
    return Piece::kCode;
  }
  const bool raw = s_[i_] == '"' && is_raw_string();
  doubtful_ = doubtful_ || quote_in_doubt(raw);
  raw ? skip_raw_string() : skip_literal();
  literal_end_ = i_;
  return Piece::kLiteral;
}

// length of a backslash-newline at i_, or 0
std::size_t CodeWalk::continuation() const {
  if (starts("\\\n")) return 2;
  if (starts("\\\r\n")) return 3;
  return 0;
}

bool CodeWalk::at_blank_or_comment() const {
  return is_blank(s_[i_]) || continuation() || starts(kByteOrderMark) || starts("//") || starts("/*");
}

void CodeWalk::skip_blank_or_comment() {
  const auto ends_token = [&](std::size_t at) { return at >= s_.size() || is_blank(s_[at]) || s_[at] == '\n'; };
  if (const std::size_t n = continuation()) {
    doubtful_ = doubtful_ || (i_ > 0 && !ends_token(i_ - 1) && !ends_token(i_ + n));
    i_ += n;
  } else if (starts(kByteOrderMark)) {
    i_ += kByteOrderMark.size();
  } else if (is_blank(s_[i_])) {
    while (i_ < s_.size() && is_blank(s_[i_])) ++i_;
  } else {
    skip_comment();
  }
}

void CodeWalk::skip_comment() {
  if (starts("//")) {
    while (i_ < s_.size() && s_[i_] != '\n') i_ += std::max<std::size_t>(continuation(), 1);
    return;
  }
  const std::size_t end = s_.find("*/", i_ + 2);
  const std::size_t stop = end == std::string_view::npos ? s_.size() : end + 2;
  const std::string_view comment = s_.substr(i_, stop - i_);
  // a star, a continuation and a slash end a comment too
  if (end == std::string_view::npos || comment.find("*\\\n") != std::string_view::npos ||
      comment.find("*\\\r\n") != std::string_view::npos) {
    doubtful_ = true;
  }
  i_ = stop;
}

void CodeWalk::skip_header() {
  if (s_[i_] != '"' && s_[i_] != '<') {
    i_ = std::min(s_.find('\n', i_), s_.size());
    return;
  }
  const char close = s_[i_] == '"' ? '"' : '>';
  ++i_;
  while (i_ < s_.size() && s_[i_] != close && s_[i_] != '\n') ++i_;
  if (i_ < s_.size() && s_[i_] == close) {
    ++i_;
  } else {
    doubtful_ = true;
  }
}

// a literal ends at its quote or, broken, at the end of the line
void CodeWalk::skip_literal() {
  const char quote = s_[i_++];
  while (i_ < s_.size() && s_[i_] != quote && s_[i_] != '\n') {
    if (const std::size_t n = continuation()) {
      i_ += n;
    } else {
      i_ += s_[i_] == '\\' && i_ + 1 < s_.size() && s_[i_ + 1] != '\n' ? 2 : 1;
    }
  }
  if (i_ < s_.size() && s_[i_] == quote) {
    ++i_;
  } else {
    doubtful_ = true;
  }
}

void CodeWalk::skip_raw_string() {
  const std::size_t begin = i_, open = s_.find('(', i_);
  if (open == std::string_view::npos || open - i_ > 17) {
    doubtful_ = true;
    ++i_;
    return;
  }
  const std::string_view mark = s_.substr(i_ + 1, open - i_ - 1);
  std::string close(")");
  close.append(mark).append("\"");
  const std::size_t end = s_.find(close, open);
  i_ = end == std::string_view::npos ? s_.size() : end + close.size();
  const bool lines = s_.substr(begin, i_ - begin).find('\n') != std::string_view::npos;
  doubtful_ = doubtful_ || end == std::string_view::npos || mark.find_first_of(" \t\r\n\f\v\\)\"") < mark.size() ||
              (directive_ && lines);
}

void CodeWalk::skip_code() {
  do {
    doubtful_ = doubtful_ || !is_basic(s_[i_]);
    ++i_;
  } while (i_ < s_.size() && s_[i_] != '\n' && !at_blank_or_comment() && !at_literal());
}

// the word that ends at i_: R, u8R, uR, UR, LR make a raw string
std::string_view CodeWalk::word_before() const {
  std::size_t b = i_;
  while (b > 0 && is_word(s_[b - 1])) --b;
  return s_.substr(b, i_ - b);
}

bool CodeWalk::is_raw_string() const {
  const std::string_view w = word_before();
  return w == "R" || w == "u8R" || w == "uR" || w == "UR" || w == "LR";
}

// a digit separator, no quote
bool CodeWalk::in_number() const {
  std::size_t b = i_;
  while (b > literal_end_ && (is_word(s_[b - 1]) || s_[b - 1] == '\'' || s_[b - 1] == '.')) --b;
  return b < i_ && is_digit(s_[b]) && i_ + 1 < s_.size() && is_word(s_[i_ + 1]);
}

// Right behind a word or a number, a quote may belong to the number (.5'000, 1e+'0) or be a suffix's; a prefix may be
// the end of a number (1e+R"...").
bool CodeWalk::quote_in_doubt(bool raw) const {
  const std::string_view w = word_before();
  const bool prefix = raw || w == "L" || w == "u" || w == "U" || w == "u8";
  if (!w.empty() && !prefix) return true;
  const std::size_t b = i_ - w.size();
  if (b == 0 || (w.empty() && s_[i_] == '"')) return false;
  const char c = s_[b - 1];
  const bool exponent = (c == '+' || c == '-') && b > 1 && std::string_view("eEpP").find(s_[b - 2]) < 4;
  return exponent || c == '.' || c == '\'' || c == '"';
}

}  // namespace cpize::tool
