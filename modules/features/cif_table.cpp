#include "features/cif_table.hpp"

#include <charconv>
#include <cmath>
#include <gemmi/cif.hpp>

#include "error/error.hpp"
#include "features/text.hpp"

namespace cpize::features {

namespace {

std::string upper_first_word(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  return to_upper(text.substr(begin, text.find_first_of(" \t\n", begin) - begin));
}

// Walks the tokens of CIF text; used only to find the line of a value for a message.
class TokenWalker {
 public:
  TokenWalker(const std::string& text, int line) : text_(text) {
    while (line_ < line && position_ < text_.size()) advance();
  }

  /// Moves behind the next token; its line is `token_line()`.
  bool next() {
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == '#') {
        skip_to("\n");
      } else if (std::isspace(static_cast<unsigned char>(c))) {
        advance();
      } else {
        break;
      }
    }
    if (position_ >= text_.size()) return false;
    token_line_ = line_;
    start_ = position_;
    const char c = text_[position_];
    if (c == ';' && (position_ == 0 || text_[position_ - 1] == '\n')) {
      skip_to("\n;");
      advance();
      advance();
    } else if (c == '\'' || c == '"') {
      advance();
      while (position_ < text_.size() && !(text_[position_] == c && ends_at(position_ + 1))) advance();
      advance();
    } else {
      while (!ends_at(position_)) advance();
    }
    return true;
  }

  int token_line() const { return token_line_; }
  char first_character() const { return text_[start_]; }

 private:
  bool ends_at(size_t i) const { return i >= text_.size() || std::isspace(static_cast<unsigned char>(text_[i])); }
  void advance() {
    if (position_ < text_.size() && text_[position_] == '\n') ++line_;
    if (position_ < text_.size()) ++position_;
  }
  void skip_to(const std::string& end) {
    const size_t stop = std::min(text_.find(end, position_), text_.size());
    while (position_ < stop) advance();
  }

  const std::string& text_;
  size_t position_ = 0, start_ = 0;
  int line_ = 1, token_line_ = 1;
};

}  // namespace

CifFile CifFile::read(const std::string& path) {
  CifFile file;
  file.path = path;
  file.text = read_text_file(path);
  const std::string first = upper_first_word(file.text);
  if (first == "HEADER" || first == "ATOM" || first == "CRYST1" || first == "REMARK" || first == "TITLE") {
    throw InputError(path + ":1", "starts with '" + first + "': PDB format, expected mmCIF; convert it to mmCIF first");
  }
  try {
    file.document = gemmi::cif::read_memory(file.text.data(), file.text.size(), path.c_str());
  } catch (const std::exception& error) {
    // gemmi says "path:line:column ...: what"; the path would be repeated
    std::string message = error.what();
    std::string where = path;
    if (message.starts_with(path + ":")) {
      const size_t digits = path.size() + 1;
      const size_t end = message.find_first_not_of("0123456789", digits);
      where = message.substr(0, end);
      message = end == std::string::npos
                    ? ""
                    : message.substr(std::min(message.find_first_not_of(": ", end), message.size()));
    }
    throw InputError(where, "is no valid mmCIF: " + message);
  }
  return file;
}

CifTable::CifTable(CifFile& file, gemmi::cif::Block& block, const std::string& category)
    : file_(&file), category_(category.substr(0, category.size() - 1)) {
  const std::string prefix = to_lower(category);
  for (const auto& item : block.items) {
    if (!item.has_prefix(prefix)) continue;
    if (item.type == gemmi::cif::ItemType::Loop) {
      if (loop_ != nullptr || !pairs_.empty()) {
        throw InputError(file.path + ":" + std::to_string(item.line_number), "a second table " + category_);
      }
      loop_ = &item.loop;
      loop_line_ = item.line_number;
      rows_ = static_cast<int>(item.loop.length());
      for (const auto& tag : item.loop.tags) {
        if (!to_lower(tag).starts_with(prefix)) {
          throw InputError(file.path + ":" + std::to_string(item.line_number),
                           "the loop of " + category_ + " also holds " + tag);
        }
        tags_.push_back(tag.substr(category.size()));
      }
    } else if (item.type == gemmi::cif::ItemType::Pair) {
      if (loop_ != nullptr) {
        throw InputError(file.path + ":" + std::to_string(item.line_number),
                         item.pair[0] + " stands beside the loop of " + category_);
      }
      pairs_.push_back(&item);
      tags_.push_back(item.pair[0].substr(category.size()));
      rows_ = 1;
    }
  }
  for (const auto& tag : tags_) lower_.push_back(to_lower(tag));
}

int CifTable::find(const std::string& item) const {
  const std::string wanted = to_lower(item);
  for (size_t i = 0; i < lower_.size(); ++i) {
    if (lower_[i] == wanted) return static_cast<int>(i);
  }
  return -1;
}

int CifTable::require(const std::string& item) const {
  const int column = find(item);
  if (column < 0)
    throw InputError(where(), "the column " + category_ + "." + item + " is missing" + did_you_mean(item, tags_));
  return column;
}

int CifTable::optional(const std::string& item, const std::vector<std::string>& known_items) const {
  const int column = find(item);
  if (column >= 0) return column;
  for (const auto& tag : tags_) {
    bool known = false;
    for (const auto& other : known_items) known = known || to_lower(other) == to_lower(tag);
    if (!known && edit_distance(tag, item) <= 2) {
      throw InputError(where(), "unknown column " + category_ + "." + tag + "; did you mean '" + item + "'?");
    }
  }
  return -1;
}

const std::string& CifTable::raw(int row, int column) const {
  if (loop_ != nullptr) return loop_->values[static_cast<size_t>(row) * tags_.size() + static_cast<size_t>(column)];
  return pairs_[static_cast<size_t>(column)]->pair[1];
}

bool CifTable::is_null(int row, int column) const { return column < 0 || gemmi::cif::is_null(raw(row, column)); }

std::string CifTable::text(int row, int column) const {
  return is_null(row, column) ? std::string() : gemmi::cif::as_string(raw(row, column));
}

std::string CifTable::required_text(int row, int column) const {
  std::string value = text(row, column);
  if (value.empty())
    throw InputError(where(row, column), "is not given ('" + raw(row, column) + "'); a value is needed here");
  return value;
}

double CifTable::number(int row, int column) const {
  const std::string value = required_text(row, column);
  double result = 0;
  // a standard uncertainty in brackets, as in 1.234(5), is allowed by mmCIF
  const std::string digits = value.back() == ')' ? value.substr(0, value.find('(')) : value;
  const char* begin = digits.data() + (digits.starts_with('+') ? 1 : 0);
  const auto [end, status] = std::from_chars(begin, digits.data() + digits.size(), result);
  if (status != std::errc() || end != digits.data() + digits.size() || !std::isfinite(result)) {
    throw InputError(where(row, column), "'" + value + "' is not a finite number");
  }
  return result;
}

int CifTable::integer(int row, int column) const {
  const std::string value = required_text(row, column);
  int result = 0;
  const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (status != std::errc() || end != value.data() + value.size()) {
    throw InputError(where(row, column), "'" + value + "' is not a whole number");
  }
  return result;
}

int CifTable::line_of(int row, int column) const {
  if (loop_ == nullptr) return pairs_[static_cast<size_t>(std::max(column, 0))]->line_number;
  TokenWalker walker(file_->text, loop_line_);
  bool in_tags = false;
  const size_t wanted = static_cast<size_t>(row) * tags_.size() + static_cast<size_t>(std::max(column, 0));
  size_t values = 0;
  while (walker.next()) {
    if (walker.first_character() == '_')
      in_tags = true;
    else if (in_tags && values++ == wanted)
      return walker.token_line();
  }
  return loop_line_;
}

std::string CifTable::where(int row, int column) const {
  std::string result = file_->path + ":" + std::to_string(line_of(row, column)) + ", " + category_;
  return column < 0 ? result : result + "." + tags_[static_cast<size_t>(column)];
}

std::string CifTable::where() const {
  if (!exists()) return file_->path;
  return file_->path + ":" + std::to_string(loop_ != nullptr ? loop_line_ : pairs_.front()->line_number) + ", " +
         category_;
}

}  // namespace cpize::features
