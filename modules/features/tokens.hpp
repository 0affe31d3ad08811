// Tokens: what a structure becomes for the model. One token a standard residue or nucleotide, one a heavy atom
// elsewhere.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "features/structure.hpp"

namespace cpize::features {

struct Token {
  int chain = 0, residue = 0;  ///< indices into the structure
  std::string atom;            ///< the atom's name; empty: the token is a whole standard residue
  int res_type = 0;            ///< id of residue_types.hpp; UNK for atoms
  MolType mol_type = MolType::protein;
  std::optional<std::array<double, 3>> centre;     ///< of a resolved token: CA, C1', or the atom itself
  std::optional<std::array<double, 3>> distogram;  ///< CB, C4, C2 ..., or the atom itself
};

struct TokenisedStructure {
  std::vector<Token> tokens;               ///< chain by chain, residue by residue; atoms in their component's order
  std::vector<std::pair<int, int>> bonds;  ///< covalent bonds between tokens, first < second, sorted, each once
  std::vector<BondType> bond_types;        ///< of `bonds`: as the component says, `covalent` for links
  std::vector<std::string> warnings;
};

/// What to do with a ligand or modified residue of several atoms that neither the file nor the dictionary defines.
enum class UnknownComponent {
  error,
  resolved_atoms_without_bonds,  ///< its resolved heavy atoms are tokens, its internal bonds are missing; said as a
                                 ///< warning
};

/// Tokens and token bonds of a structure.
///
/// * A residue of a polymer whose component has a residue type (20 amino acids, UNK, 5 RNA, 5 DNA nucleotides) is one
/// token,
///   resolved or not. Every other residue of a polymer (modified, selenomethionine included) and every non-polymer has
///   one token for each heavy atom of its component; hydrogens are no tokens.
/// * The component is the one that the file defines (_chem_comp_atom and _chem_comp_bond), else the dictionary's. Atoms
/// without a
///   position are unresolved tokens, except leaving atoms of a residue that is in a polymer or has a link: those have
///   left.
/// * Bonds: within such residues as the component says, and links of the structure. The backbone of a polymer and
/// disulfide bridges
///   are no token bonds. Distances are never used.
/// @throws InputError naming the file, residue and atom if a component is unknown, has no such atom, or a link's atom
/// is no token.
TokenisedStructure tokenise(const Structure& structure,
                            const ComponentDictionary& dictionary = ComponentDictionary::standard(),
                            UnknownComponent unknown = UnknownComponent::error);

}  // namespace cpize::features
