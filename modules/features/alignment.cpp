#include "features/alignment.hpp"

#include <algorithm>
#include <string_view>

namespace cpize::features {

int Alignment::keyed_rows() const {
  return static_cast<int>(
      std::count_if(rows.begin(), rows.end(), [](const AlignmentRow& row) { return !row.key.empty(); }));
}

std::optional<int> alignment_residue(MolType type, char letter) {
  if (type == MolType::rna || type == MolType::dna) {
    constexpr std::string_view ambiguous = "RYSWKMBDHV";
    if (ambiguous.find(letter) != std::string_view::npos) letter = 'N';
  }
  const auto meaning = component_of_letter(type, letter);
  if (!meaning) return std::nullopt;
  // selenocysteine and pyrrolysine have no residue type of their own
  return residue_type_of(meaning->component).value_or(kUnknownProtein);
}

}  // namespace cpize::features
