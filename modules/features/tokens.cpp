#include "features/tokens.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "error/error.hpp"
#include "features/text.hpp"

namespace cpize::features {

namespace {

std::optional<std::array<double, 3>> position_of(const Residue& residue, std::string_view atom) {
  const Atom* found = residue.find_atom(std::string(atom));
  return found == nullptr ? std::nullopt : std::optional(found->position);
}

class Tokeniser {
 public:
  Tokeniser(const Structure& structure, const ComponentDictionary& dictionary, UnknownComponent unknown)
      : structure_(structure), dictionary_(dictionary), unknown_(unknown) {
    for (const auto& link : structure.links) {
      linked_.insert({link.first.chain, link.first.residue});
      linked_.insert({link.second.chain, link.second.residue});
    }
  }

  TokenisedStructure run() {
    for (size_t c = 0; c < structure_.chains.size(); ++c) {
      const Chain& chain = structure_.chains[c];
      for (size_t r = 0; r < chain.residues.size(); ++r) {
        const auto res_type = chain.is_polymer() ? residue_type_of(chain.residues[r].component) : std::nullopt;
        if (res_type) {
          add_residue_token(static_cast<int>(c), static_cast<int>(r), *res_type);
        } else {
          add_atom_tokens(static_cast<int>(c), static_cast<int>(r));
        }
      }
    }
    for (const auto& link : structure_.links)
      add_bond(token_of(link.first, link), token_of(link.second, link), BondType::covalent);
    for (const auto& [ends, type] : bonds_) {
      result_.bonds.push_back(ends);
      result_.bond_types.push_back(type);
    }
    result_.warnings.assign(warnings_.begin(), warnings_.end());
    return std::move(result_);
  }

 private:
  using Place = std::pair<int, int>;

  const Residue& residue_at(int chain, int residue) const {
    return structure_.chains[static_cast<size_t>(chain)].residues[static_cast<size_t>(residue)];
  }

  std::string name_of_residue(int chain, int residue) const {
    const Residue& r = residue_at(chain, residue);
    const std::string author = r.author_number.empty() ? "" : " (author number " + r.author_id() + ")";
    return r.component + " " + std::to_string(r.position) + author + " of chain " +
           structure_.chains[static_cast<size_t>(chain)].id;
  }

  void add_bond(int a, int b, BondType type) {
    if (a != b) bonds_.emplace(std::minmax(a, b), type);
  }

  void add_residue_token(int c, int r, int res_type) {
    const Residue& residue = residue_at(c, r);
    whole_[{c, r}] = static_cast<int>(result_.tokens.size());
    result_.tokens.push_back({c, r, "", res_type, structure_.chains[static_cast<size_t>(c)].type,
                              position_of(residue, centre_atom(res_type)),
                              position_of(residue, distogram_atom(res_type))});
  }

  // The definition of the residue's component; elements that a file's bond table leaves open are those of the residue's
  // atoms.
  Component component_of(int c, int r) {
    const Residue& residue = residue_at(c, r);
    const Component* ours = dictionary_.find(residue.component);
    const Component* files = structure_.components.find(residue.component);
    const bool complete = files != nullptr &&
                          std::none_of(files->atoms.begin(), files->atoms.end(),
                                       [](const ComponentAtom& atom) { return atom.element.empty(); }) &&
                          (!files->bonds.empty() || files->heavy_atoms() == 1);
    if (complete) {
      Component merged = *files;
      for (auto& atom : merged.atoms) {
        const int index = ours == nullptr ? -1 : ours->find_atom(atom.name);
        atom.leaving = atom.leaving || (index >= 0 && ours->atoms[static_cast<size_t>(index)].leaving);
      }
      if (ours != nullptr) complete_bond_types(*ours, merged);
      return merged;
    }
    if (ours != nullptr) return *ours;
    return component_of_atoms(c, r, files);
  }

  // A file's bond table may leave the orders out.
  static void complete_bond_types(const Component& ours, Component& merged) {
    for (auto& bond : merged.bonds) {
      if (bond.type != BondType::other) continue;
      const int first = ours.find_atom(merged.atoms[static_cast<size_t>(bond.first)].name);
      const int second = ours.find_atom(merged.atoms[static_cast<size_t>(bond.second)].name);
      for (const auto& known : ours.bonds) {
        if (std::minmax(known.first, known.second) == std::minmax(first, second)) bond.type = known.type;
      }
    }
  }

  // Without a full definition: the atoms present, with the bonds of the file's bond table if it has one.
  Component component_of_atoms(int c, int r, const Component* bonds) {
    const Residue& residue = residue_at(c, r);
    Component component;
    component.code = residue.component;
    for (const auto& atom : residue.atoms) component.atoms.push_back({atom.name, atom.element, false});
    const bool single = component.heavy_atoms() == 1;
    if (bonds != nullptr && residue.resolved()) {
      for (const auto& bond : bonds->bonds) {
        const int first = component.find_atom(bonds->atoms[static_cast<size_t>(bond.first)].name);
        const int second = component.find_atom(bonds->atoms[static_cast<size_t>(bond.second)].name);
        if (first >= 0 && second >= 0) component.bonds.push_back({first, second, bond.type});
      }
    } else if (!residue.resolved() || (!single && unknown_ == UnknownComponent::error)) {
      throw InputError(structure_.source,
                       name_of_residue(c, r) + ": component '" + residue.component +
                           "' is defined neither in the file (_chem_comp_atom, _chem_comp_bond) nor in " +
                           dictionary_.source() + ", so its " + (residue.resolved() ? "bonds" : "atoms") +
                           " are unknown" + did_you_mean(residue.component, dictionary_.codes()) +
                           "; name a component dictionary that has it (CPIZE_COMPONENTS)");
    } else if (!single) {
      warnings_.insert("component " + residue.component +
                       " is not defined: its resolved atoms are tokens without bonds among them");
    }
    return component;
  }

  void add_atom_tokens(int c, int r) {
    const Residue& residue = residue_at(c, r);
    const Component component = component_of(c, r);
    check_atoms(c, r, component);
    const MolType type = structure_.chains[static_cast<size_t>(c)].type;
    const bool bound = type != MolType::nonpolymer || linked_.count({c, r}) > 0;
    std::vector<int> token_of_atom(component.atoms.size(), -1);
    for (size_t i = 0; i < component.atoms.size(); ++i) {
      const ComponentAtom& atom = component.atoms[i];
      if (atom.is_hydrogen()) continue;
      const auto position = position_of(residue, atom.name);
      if (!position && atom.leaving && bound) continue;
      token_of_atom[i] = atom_token_[{c, r, atom.name}] = static_cast<int>(result_.tokens.size());
      result_.tokens.push_back({c, r, atom.name, kUnknownProtein, type, position, position});
    }
    for (const auto& bond : component.bonds) {
      const int a = token_of_atom[static_cast<size_t>(bond.first)], b = token_of_atom[static_cast<size_t>(bond.second)];
      if (a >= 0 && b >= 0) add_bond(a, b, bond.type);
    }
  }

  void check_atoms(int c, int r, const Component& component) const {
    for (const auto& atom : residue_at(c, r).atoms) {
      if (atom.is_hydrogen() || component.find_atom(atom.name) >= 0) continue;
      std::vector<std::string> names;
      for (const auto& known : component.atoms) {
        if (!known.is_hydrogen()) names.push_back(known.name);
      }
      throw InputError(structure_.source, name_of_residue(c, r) + ": component '" + component.code + "' has no atom '" +
                                              atom.name + "'; it has " + join(names) + did_you_mean(atom.name, names));
    }
  }

  int token_of(const LinkEnd& end, const Link& link) const {
    if (const auto whole = whole_.find({end.chain, end.residue}); whole != whole_.end()) return whole->second;
    if (const auto atom = atom_token_.find({end.chain, end.residue, end.atom}); atom != atom_token_.end())
      return atom->second;
    throw InputError(structure_.source, "link '" + link.id + "' (_struct_conn) names atom '" + end.atom + "' of " +
                                            name_of_residue(end.chain, end.residue) +
                                            ", which is no token (a hydrogen, or absent)");
  }

  const Structure& structure_;
  const ComponentDictionary& dictionary_;
  const UnknownComponent unknown_;
  std::set<Place> linked_;
  std::map<Place, int> whole_;
  std::map<std::tuple<int, int, std::string>, int> atom_token_;
  std::map<std::pair<int, int>, BondType> bonds_;
  std::set<std::string> warnings_;
  TokenisedStructure result_;
};

}  // namespace

TokenisedStructure tokenise(const Structure& structure, const ComponentDictionary& dictionary,
                            UnknownComponent unknown) {
  return Tokeniser(structure, dictionary, unknown).run();
}

}  // namespace cpize::features
