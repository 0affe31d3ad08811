#include "code_text.hpp"

#include <algorithm>
#include <utility>

#include "code_walk.hpp"

namespace cpize::tool {
namespace {

bool among(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

bool is_quote(char c) { return c == '"' || c == '\''; }

// Neighbours in some operator or comment mark, of C++ or CUDA; with the doubtful ones.
bool join(char a, char b) {
  if (among(a, "(){},;") || among(b, "(){},;")) return false;
  if (a == '[' || b == ']') return a == ':' || b == ':';
  if (a == ']' || b == '[') return false;
  constexpr std::string_view kPairs = ".* -> >* %: :% <: :> <% %> => /* */";
  const char pair[] = {a, b};
  return a == b || b == '=' || kPairs.find(std::string_view(pair, 2)) != std::string_view::npos;
}

// What compilers disagree on, or what changes how a text is cut into pieces, anywhere in the text.
bool is_unusual(std::string_view s) {
  if (s.find("__has_include") < s.size() || s.find("__has_embed") < s.size() || s.find("\xef\xbb\xbf", 1) < s.size())
    return true;
  for (std::size_t i = s.find_first_of("\\\r?"); i < s.size(); i = s.find_first_of("\\\r?", i + 1)) {
    const std::string_view rest = s.substr(i + 1);
    if (s[i] == '\r' && !rest.starts_with('\n')) return true;
    if (s[i] == '?' && rest.size() > 1 && rest[0] == '?' && among(rest[1], "=/'()!<>-")) return true;
    const std::size_t blanks = std::min(rest.find_first_not_of(" \t\f\v\r"), rest.size());
    if (s[i] == '\\' && blanks > 0 && rest.substr(blanks).starts_with('\n') && rest.substr(0, blanks) != "\r")
      return true;
  }
  return false;
}

class Writer {
 public:
  explicit Writer(std::string_view source) : source_(source) { out_.reserve(source.size()); }

  void add(const Piece& p) {
    const bool line_start = line_start_, after_hash = last_ == Last::kHash;
    if (p.kind != Piece::kBlank) line_start_ = p.kind == Piece::kNewline;
    switch (p.kind) {
      case Piece::kBlank:
        blank_ = true;
        break;
      case Piece::kNewline:
        directive_ ? end_directive() : void(blank_ = true);
        break;
      case Piece::kHash:
        if (!out_.empty() && out_.back() != '\n') out_ += '\n';
        out_ += p.text;
        last_ = Last::kHash;
        blank_ = false;
        directive_ = true;
        break;
      case Piece::kHeader:
        header(p.text);
        break;
      case Piece::kLiteral:
        separate(p.text[0]);
        out_ += p.text;
        last_ = Last::kLiteral;
        break;
      case Piece::kCode:
        doubtful_ = doubtful_ || (after_hash && p.text == "embed") || (line_start && is_module_line(p.text));
        separate(p.text[0]);
        for (const char c : p.text) code(c);
        break;
    }
  }

  std::string finish() {
    if (directive_) end_directive();
    return std::move(out_);
  }
  bool doubtful() const { return doubtful_; }

 private:
  enum class Last { kNothing, kHash, kName, kNumber, kLiteral, kPunctuation };

  void end_directive() {
    out_ += '\n';
    last_ = Last::kNothing;
    directive_ = blank_ = false;
  }

  // One space if there was a blank before `next`, and leaving it out might change the tokens.
  void separate(char next) {
    if (blank_ && matters(next)) {
      out_ += ' ';
      last_ = Last::kNothing;
    }
    blank_ = false;
  }

  bool matters(char next) const {
    if (last_ == Last::kHash) return !is_word(next);
    if (directive_) return true;
    const char before = out_.empty() ? ' ' : out_.back();
    switch (last_) {
      case Last::kName:
      case Last::kLiteral:  // a prefix, a suffix
        return is_word(next) || is_quote(next);
      case Last::kNumber:
        return is_word(next) || is_quote(next) || next == '.' || (among(next, "+-") && among(before, "eEpP"));
      case Last::kPunctuation:
        if (is_word(next)) return before == '.' && is_digit(next);
        if (is_quote(next) || (before == '>' && next == '*' && !out_.ends_with("->"))) return false;
        return join(before, next);
      default:
        return false;
    }
  }

  // A number is what the preprocessor takes for one: it goes on over names, points, separators and signs of exponents.
  void code(char c) {
    const char before = out_.empty() ? ' ' : out_.back();
    out_ += c;
    if (last_ == Last::kNumber && (is_word(c) || c == '.' || c == '\'' || (among(c, "+-") && among(before, "eEpP"))))
      return;
    if (last_ == Last::kName && is_word(c)) return;
    last_ = is_digit(c) ? Last::kNumber : is_word(c) ? Last::kName : Last::kPunctuation;
  }

  void header(std::string_view text) {
    separate(text[0]);
    last_ = Last::kLiteral;
    if (is_quote(text[0]) || text[0] == '<') {
      out_ += text;
      return;
    }
    // a macro, to the end of the line: comments and literals in it were not looked for
    doubtful_ = doubtful_ || text.find_first_of("/\\\"'$") < text.size();
    for (const char c : text) {
      if (is_blank(c)) {
        blank_ = true;
      } else {
        separate(c);
        out_ += c;
        last_ = Last::kName;
      }
    }
  }

  // `import <a>;` and its like are bound to their line as directives are
  bool is_module_line(std::string_view code) const {
    std::size_t n = 0;
    while (n < code.size() && is_word(code[n])) ++n;
    const std::string_view word = code.substr(0, n);
    if (word == "import" || word == "export") return true;
    if (word != "module") return false;
    std::string_view rest = source_.substr(static_cast<std::size_t>(code.data() - source_.data()) + n);
    while (!rest.empty() && is_blank(rest[0])) rest.remove_prefix(1);
    return rest.empty() || is_word(rest[0]) || among(rest[0], "/;\\\n") || (rest[0] == ':' && !rest.starts_with("::"));
  }

  std::string_view source_;
  std::string out_;
  Last last_ = Last::kNothing;
  bool blank_ = false, directive_ = false, line_start_ = true, doubtful_ = false;
};

}  // namespace

std::string code_text(std::string_view text) {
  if (is_unusual(text)) return std::string(text);
  CodeWalk walk(text);
  Writer writer(text);
  for (Piece p; walk.next(p);) writer.add(p);
  return walk.doubtful() || writer.doubtful() ? std::string(text) : writer.finish();
}

}  // namespace cpize::tool
