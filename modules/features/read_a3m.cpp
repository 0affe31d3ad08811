#include "features/read_a3m.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "error/error.hpp"
#include "features/alignment_builder.hpp"
#include "features/read_msa_csv.hpp"

namespace cpize::features {

namespace {

/// NUL bytes at the ends are dropped (those of the start leave no line behind); one with text on both sides is an
/// error.
std::string read_one_alignment(const std::string& path) {
  std::string text = read_text_file(path, NulBytes::keep);
  const std::string_view blanks(" \t\n\0", 4);
  const size_t end = text.find_last_not_of(blanks) + 1;
  std::replace(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find_first_not_of(blanks)), '\0', ' ');
  text.resize(end);
  if (const size_t nul = text.find('\0'); nul != std::string::npos) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(nul), '\n');
    throw InputError(path + ":" + std::to_string(line),
                     "a second alignment begins behind a NUL byte; expected one alignment a file, split it");
  }
  return text;
}

/// The digits behind the last `label` in a header; empty if there are none.
std::string number_behind(const std::string& header, std::string_view label) {
  const size_t at = header.rfind(label);
  if (at == std::string::npos) return "";
  const auto begin = header.begin() + static_cast<std::ptrdiff_t>(at + label.size());
  return {begin, std::find_if_not(begin, header.end(), [](unsigned char c) { return std::isdigit(c) != 0; })};
}

std::string key_of(const std::string& header, A3mKeys keys) {
  std::string key = number_behind(header, "tax_id:");
  if (key.empty() && keys == A3mKeys::uniref_headers) key = number_behind(header, "TaxID=");
  return key;
}

}  // namespace

Alignment read_a3m(const std::string& path, MolType type, A3mKeys keys) {
  AlignmentBuilder builder(path, type, Duplicates::drop);
  AlignmentRow row;
  std::vector<Line> letters;
  bool in_row = false;
  const auto finish_row = [&] {
    if (in_row) builder.add(std::move(row), letters);
    row = {};
    letters.clear();
  };
  for (auto& line : lines_of(read_one_alignment(path))) {
    const std::string_view text = strip(line.text);
    if (text.empty() || text.front() == '#' || text.front() == ';') continue;
    if (text.front() == '>') {
      finish_row();
      in_row = true;
      row.name = strip(text.substr(1));
      row.key = key_of(row.name, keys);
      row.line = line.number;
    } else if (!in_row) {
      throw InputError(path + ":" + std::to_string(line.number),
                       "text before the first header; expected a line that starts with '>'");
    } else {
      letters.push_back(std::move(line));
    }
  }
  finish_row();
  return builder.finish();
}

Alignment read_alignment(const std::string& path, MolType type, A3mKeys keys) {
  const std::string ending = to_lower(std::filesystem::path(path).extension().string());
  if (ending == ".csv") return read_msa_csv(path, type);
  if (ending == ".a3m") return read_a3m(path, type, keys);
  throw InputError(path, "is no alignment by its name: expected a file that ends in .a3m or .csv");
}

}  // namespace cpize::features
