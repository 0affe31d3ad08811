// Chemical components: the atoms and bonds of a residue or ligand by its code, from a JSON or mmCIF dictionary.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cpize::features {

struct ComponentAtom {
  std::string name;
  std::string element;   ///< symbol as in the periodic table, upper case ("C", "CL")
  bool leaving = false;  ///< may be gone when the residue is bound to another one
  bool is_hydrogen() const { return element == "H" || element == "D"; }
};

/// Bond types of the feature `type_bonds`, which holds 1 + the type.
enum class BondType { other = 0, single_bond = 1, double_bond = 2, triple_bond = 3, aromatic = 4, covalent = 5 };

/// The type of a bond with the dictionary's order (SING, DOUB, TRIP, QUAD, AROM, DELO, PI, POLY; case does not matter)
/// and aromatic flag: aromatic bonds are of their own type, whatever their order. An unknown order is nothing.
std::optional<BondType> bond_type_of(std::string_view order, bool aromatic);
/// The orders that bond_type_of knows, for messages.
const std::vector<std::string>& bond_orders();

struct ComponentBond {
  int first = 0, second = 0;        ///< indices into `atoms`
  BondType type = BondType::other;  ///< `other` where the definition does not say
};

struct Component {
  std::string code;
  std::string type;        ///< "L-PEPTIDE LINKING", "NON-POLYMER", ...
  std::string one_letter;  ///< as people write it in a sequence; empty if the definition does not say
  std::string parent;      ///< code of the standard component that this one is a modification of; empty if none
  std::vector<ComponentAtom> atoms;
  std::vector<ComponentBond> bonds;
  int find_atom(const std::string& name) const;  ///< -1 if absent
  int heavy_atoms() const;
};

/// Components by code. Codes are compared whole and with case, as in the wwPDB dictionary (upper case).
class ComponentDictionary {
 public:
  /// Reads a dictionary: `.json` (one object: code -> {type, atoms: [[name, element, charge, [x,y,z], leaving, ...]],
  /// bonds:
  /// [[i, j, ...]]}) or mmCIF (the wwPDB's components.cif, one block a component).
  /// @throws InputError naming file, component and field; also if the file holds no component.
  static ComponentDictionary read(const std::string& path);
  /// The same from JSON text; `source` names it in messages.
  static ComponentDictionary read_json(const std::string& text, const std::string& source);

  /// The dictionary that comes with CPize (standard and common modified residues, ions, cofactors, sugars), compiled
  /// in; the environment variable CPIZE_COMPONENTS names a file with another one. Read once a process.
  static const ComponentDictionary& standard();

  const Component* find(const std::string& code) const;  ///< nullptr if unknown
  void add(Component component);                         ///< an equal code replaces the earlier entry
  size_t size() const { return components_.size(); }
  const std::string& source() const { return source_; }
  std::vector<std::string> codes() const;

 private:
  std::map<std::string, Component> components_;
  std::string source_;
};

}  // namespace cpize::features
