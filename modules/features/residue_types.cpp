#include "features/residue_types.hpp"

#include "features/text.hpp"

namespace cpize::features {

namespace {

constexpr int kFirstAminoAcid = 2, kFirstRna = 23, kFirstDna = 28;

struct AminoAcidLetter {
  char letter;
  std::string_view component;
};

constexpr std::array<AminoAcidLetter, 23> kAminoAcidLetters = {
    {{'A', "ALA"}, {'R', "ARG"}, {'N', "ASN"}, {'D', "ASP"}, {'C', "CYS"}, {'Q', "GLN"}, {'E', "GLU"}, {'G', "GLY"},
     {'H', "HIS"}, {'I', "ILE"}, {'L', "LEU"}, {'K', "LYS"}, {'M', "MET"}, {'F', "PHE"}, {'P', "PRO"}, {'S', "SER"},
     {'T', "THR"}, {'W', "TRP"}, {'Y', "TYR"}, {'V', "VAL"}, {'X', "UNK"}, {'U', "SEC"}, {'O', "PYL"}}};

}  // namespace

std::string_view name_of(MolType type) {
  switch (type) {
    case MolType::protein:
      return "protein";
    case MolType::dna:
      return "dna";
    case MolType::rna:
      return "rna";
    case MolType::nonpolymer:
      break;
  }
  return "nonpolymer";
}

std::optional<MolType> polymer_type_named(std::string_view name) {
  for (const MolType type : {MolType::protein, MolType::dna, MolType::rna}) {
    if (name == name_of(type)) return type;
  }
  return std::nullopt;
}

std::optional<int> residue_type_of(std::string_view component) {
  for (int id = kFirstAminoAcid; id < kResidueTypes; ++id) {
    if (kResidueTypeNames[static_cast<size_t>(id)] == component) return id;
  }
  return std::nullopt;
}

std::optional<MolType> mol_type_of_standard(std::string_view component) {
  const auto id = residue_type_of(component);
  if (!id) return std::nullopt;
  if (*id >= kFirstDna) return MolType::dna;
  return *id >= kFirstRna ? MolType::rna : MolType::protein;
}

std::optional<MolType> mol_type_of_component_type(std::string_view component_type) {
  const std::string type = to_upper(component_type);
  if (type.find("PEPTIDE") != std::string::npos) {
    // "PEPTIDE-LIKE" names inhibitors that are not part of a chain
    return type == "PEPTIDE-LIKE" ? std::nullopt : std::optional(MolType::protein);
  }
  if (type.find("DNA") != std::string::npos) return MolType::dna;
  if (type.find("RNA") != std::string::npos) return MolType::rna;
  return std::nullopt;
}

std::optional<Letter> component_of_letter(MolType type, char letter) {
  const std::string_view letters = letters_of(type);
  if (letters.find(letter) == std::string_view::npos) return std::nullopt;
  if (type == MolType::rna) return Letter{std::string(1, letter)};
  if (type == MolType::dna) return Letter{std::string("D") + letter};
  for (const auto& [known, component] : kAminoAcidLetters) {
    if (known == letter) return Letter{std::string(component)};
  }
  return Letter{"UNK", true};
}

std::string_view letters_of(MolType type) {
  switch (type) {
    case MolType::protein:
      return "ACDEFGHIKLMNPQRSTVWYXUOBZJ";
    case MolType::dna:
      return "ACGTN";
    case MolType::rna:
      return "ACGUN";
    case MolType::nonpolymer:
      break;
  }
  return "";
}

std::string_view centre_atom(int residue_type) { return residue_type >= kFirstRna ? "C1'" : "CA"; }

std::string_view distogram_atom(int residue_type) {
  const std::string_view name = kResidueTypeNames.at(static_cast<size_t>(residue_type));
  if (residue_type < kFirstRna) return name == "GLY" ? "CA" : "CB";
  switch (name.back()) {
    case 'A':
    case 'G':
      return "C4";
    case 'C':
    case 'U':
    case 'T':
      return "C2";
    default:
      return "C1'";
  }
}

bool is_water(std::string_view component) { return component == "HOH" || component == "DOD" || component == "WAT"; }

}  // namespace cpize::features
