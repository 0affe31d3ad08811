#include "features/alignment_builder.hpp"

#include <cctype>
#include <utility>

#include "error/error.hpp"

namespace cpize::features {

namespace {

bool is_lower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }
char upper(char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); }

std::string shown(char c) {
  return std::isprint(static_cast<unsigned char>(c)) != 0
             ? std::string("'") + c + "'"
             : "byte " + std::to_string(static_cast<int>(static_cast<unsigned char>(c)));
}

std::string letter_problem(MolType type, char letter) {
  if (type == MolType::rna && upper(letter) == 'T') return "'T' in the alignment of an RNA; write U";
  if (type == MolType::dna && upper(letter) == 'U') return "'U' in the alignment of a DNA; write T";
  if (letter == '*') return "'*' in the middle of a row; it may only end one";
  return shown(letter) + " is no letter of a " + std::string(name_of(type)) + " alignment; known are " +
         std::string(letters_of(type)) + ", the same in lower case for insertions, - and .";
}

bool is_ambiguous(MolType type, char letter) {
  const auto meaning = component_of_letter(type, letter);
  return !meaning || meaning->ambiguous;
}

}  // namespace

AlignmentBuilder::AlignmentBuilder(std::string source, MolType type, Duplicates duplicates) : duplicates_(duplicates) {
  if (type == MolType::nonpolymer) {
    throw InputError(source, "is given as the alignment of a non-polymer; only proteins, DNA and RNA have one");
  }
  alignment_.source = std::move(source);
  alignment_.type = type;
}

std::string AlignmentBuilder::where(int line, size_t place) const {
  return alignment_.source + ":" + std::to_string(line) + ":" + std::to_string(place);
}

void AlignmentBuilder::add_letter(AlignmentRow& row, char letter, int& insertions, const Line& line, size_t place) {
  const bool query = alignment_.rows.empty();
  if (letter == '-') {
    if (query) throw InputError(where(line.number, place), "the first row, the query, has a gap; a query has none");
    row.residues.push_back(kGap);
  } else {
    const auto residue = alignment_residue(alignment_.type, upper(letter));
    if (!residue) throw InputError(where(line.number, place), letter_problem(alignment_.type, letter));
    if (is_lower(letter)) {
      if (query) {
        throw InputError(where(line.number, place),
                         "the first row, the query, has " + shown(letter) +
                             " in lower case, which is an insertion; a query has none: write it in upper case");
      }
      ++insertions;
      return;
    }
    if (is_ambiguous(alignment_.type, letter)) ambiguous_ = true;
    if (query) alignment_.query += letter;
    row.residues.push_back(static_cast<std::uint8_t>(*residue));
  }
  if (insertions > 0) row.deletions.push_back({static_cast<int>(row.residues.size()) - 1, insertions});
  insertions = 0;
}

void AlignmentBuilder::add(AlignmentRow row, const std::vector<Line>& lines, size_t column) {
  const std::string name = row.name.empty() ? "" : " '" + row.name + "'";
  const std::string label = alignment_.rows.empty() ? "the first row, the query," : "the row" + name;
  std::string letters;
  int insertions = 0;
  for (size_t l = 0; l < lines.size(); ++l) {
    std::string_view text = lines[l].text;
    const size_t first = std::min(text.find_first_not_of(" \t"), text.size());
    text = strip(text);
    if (l + 1 == lines.size() && text.ends_with('*')) text.remove_suffix(1);
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '.') continue;
      add_letter(row, text[i], insertions, lines[l], column + first + i);
      if (text[i] != '-') letters += upper(text[i]);
    }
  }
  const std::string start = alignment_.source + ":" + std::to_string(lines.empty() ? row.line : lines.front().number);
  if (row.residues.empty()) throw InputError(start, label + " has no residues");
  if (!alignment_.rows.empty() && row.residues.size() != alignment_.query.size()) {
    throw InputError(start, label + " has " + std::to_string(row.residues.size()) +
                                " columns (upper case and gaps), the query " + std::to_string(alignment_.query.size()));
  }
  if (!seen_.insert(std::move(letters)).second && (duplicates_ == Duplicates::drop || row.key.empty())) {
    ++alignment_.duplicates;
    return;
  }
  alignment_.rows.push_back(std::move(row));
}

Alignment AlignmentBuilder::finish() {
  if (alignment_.rows.empty()) throw InputError(alignment_.source, "holds no sequence");
  if (ambiguous_) {
    alignment_.warnings.push_back(
        alignment_.source + ": ambiguous letters (" +
        (alignment_.type == MolType::protein ? "B, Z and J" : "R, Y, S, W, K, M, B, D, H and V") +
        ") are read as unknown residues");
  }
  return std::move(alignment_);
}

}  // namespace cpize::features
