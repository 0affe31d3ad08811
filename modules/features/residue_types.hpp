// The 33 residue types and the four molecule types that the model knows, and the letters that people write for them.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cpize::features {

/// The values of the feature `mol_type`.
enum class MolType { protein = 0, dna = 1, rna = 2, nonpolymer = 3 };

std::string_view name_of(MolType type);
/// "protein", "dna", "rna"; nothing else is a polymer type.
std::optional<MolType> polymer_type_named(std::string_view name);

inline constexpr int kResidueTypes = 33;

/// Names by id: `<pad>` 0, `-` 1, 20 amino acids 2 to 21, UNK 22, RNA A G C U N 23 to 27, DNA DA DG DC DT DN 28 to 32.
inline constexpr std::array<std::string_view, kResidueTypes> kResidueTypeNames = {
    "<pad>", "-",   "ALA", "ARG", "ASN", "ASP", "CYS", "GLN", "GLU", "GLY", "HIS",
    "ILE",   "LEU", "LYS", "MET", "PHE", "PRO", "SER", "THR", "TRP", "TYR", "VAL",
    "UNK",   "A",   "G",   "C",   "U",   "N",   "DA",  "DG",  "DC",  "DT",  "DN"};

inline constexpr int kUnknownProtein = 22;

/// The id of a component that the model has a residue type for (ALA ... VAL, UNK, A ... N, DA ... DN).
std::optional<int> residue_type_of(std::string_view component);

/// The molecule type that a standard component belongs to.
std::optional<MolType> mol_type_of_standard(std::string_view component);

/// The molecule type of a component by its dictionary type ("L-PEPTIDE LINKING", "RNA LINKING", ...), if it can be part
/// of a polymer.
std::optional<MolType> mol_type_of_component_type(std::string_view component_type);

/// A letter of a FASTA sequence: the component it stands for, and whether it is ambiguous (B, Z, J: read as UNK).
struct Letter {
  std::string component;
  bool ambiguous = false;
};

/// Upper-case letter to component in the alphabet of `type`: the same letter means another residue in another molecule
/// type. Protein: 20 amino acids, X (UNK), U (SEC), O (PYL), B Z J (ambiguous). DNA: A C G T N. RNA: A C G U N.
std::optional<Letter> component_of_letter(MolType type, char letter);
/// The letters of the alphabet of `type`, for messages.
std::string_view letters_of(MolType type);

/// The atom whose position stands for the token: CA, or C1' for nucleotides.
std::string_view centre_atom(int residue_type);
/// The atom that the distogram uses: CB (CA for GLY), C4 of purines, C2 of pyrimidines, C1' of unknown nucleotides.
std::string_view distogram_atom(int residue_type);

bool is_water(std::string_view component);

}  // namespace cpize::features
