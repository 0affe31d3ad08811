// A walk over C++ or CUDA text, without preprocessing it: blanks and comments, literals, directives and other code.
//
// Who reads #include lines and who leaves comments out walk the same way. Comments, string literals (raw ones too),
// digit separators, line continuations and `%:` are understood.
#pragma once
#include <string_view>

namespace cpize::tool {

struct Piece {
  enum Kind : char {
    kBlank,    // blanks, a byte order mark, a continuation of the line, or one comment
    kNewline,  // a line end that is in no comment, literal or continuation
    kHash,     // # or %: that begins a directive
    kHeader,   // what follows #include: "name", <name>, or anything else to the end of the line
    kLiteral,  // a string or character literal with its quotes, without its prefix
    kCode      // anything else; the word after kHash is a piece of its own
  };
  Kind kind;
  std::string_view text;
  int line;  // of its first character
};

bool is_word(char c);  // letter, digit or underscore
bool is_digit(char c);
bool is_blank(char c);

class CodeWalk {
 public:
  explicit CodeWalk(std::string_view text) : s_(text) {}

  /// The pieces in order; together they are the text. False at its end.
  bool next(Piece& piece);
  /// Something was met that a compiler may cut into other pieces than this walk: a literal or comment without an end, a
  /// continuation inside a token, a quote right behind a word that is no prefix, a character outside the basic ones.
  bool doubtful() const { return doubtful_; }

 private:
  enum class Inside { kLineStart, kText, kHash, kInclude };

  bool starts(std::string_view t) const { return s_.substr(i_, t.size()) == t; }
  std::size_t continuation() const;
  bool at_blank_or_comment() const;
  bool at_literal() const { return s_[i_] == '"' || (s_[i_] == '\'' && !in_number()); }
  Piece::Kind advance();
  void skip_blank_or_comment();
  void skip_comment();
  void skip_header();
  void skip_literal();
  void skip_raw_string();
  void skip_code();
  std::string_view word_before() const;
  bool is_raw_string() const;
  bool in_number() const;
  bool quote_in_doubt(bool raw) const;

  std::string_view s_;
  std::size_t i_ = 0, literal_end_ = 0;  // of the last literal: a number does not reach into it
  int line_ = 1;
  Inside inside_ = Inside::kLineStart;
  bool directive_ = false, doubtful_ = false;
};

}  // namespace cpize::tool
