// Chemical components: the atoms and bonds of a residue or ligand by its code, from a JSON or mmCIF dictionary.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace cpize::features {

struct ComponentAtom {
  std::string name;
  std::string element;   ///< symbol as in the periodic table, upper case ("C", "CL")
  bool leaving = false;  ///< may be gone when the residue is bound to another one
  bool is_hydrogen() const { return element == "H" || element == "D"; }
};

struct ComponentBond {
  int first = 0, second = 0;  ///< indices into `atoms`
};

struct Component {
  std::string code;
  std::string type;  ///< "L-PEPTIDE LINKING", "NON-POLYMER", ...
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
