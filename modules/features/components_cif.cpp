#include "features/components_cif.hpp"

#include "error/error.hpp"
#include "features/text.hpp"

namespace cpize::features {

namespace {

std::vector<std::string> atom_names(const Component& component) {
  std::vector<std::string> names;
  for (const auto& atom : component.atoms) names.push_back(atom.name);
  return names;
}

}  // namespace

std::map<std::string, std::string> component_types_of_block(CifFile& file, gemmi::cif::Block& block) {
  std::map<std::string, std::string> types;
  const CifTable table(file, block, "_chem_comp.");
  if (!table.exists()) return types;
  const int id = table.require("id"), type = table.find("type");
  for (int row = 0; row < table.rows(); ++row) types[table.required_text(row, id)] = to_upper(table.text(row, type));
  return types;
}

void add_components_of_block(CifFile& file, gemmi::cif::Block& block, ComponentDictionary& dictionary) {
  std::map<std::string, Component> found;
  const CifTable atoms(file, block, "_chem_comp_atom.");
  if (atoms.exists()) {
    const int code = atoms.require("comp_id"), name = atoms.require("atom_id"), element = atoms.require("type_symbol");
    const int leaving = atoms.find("pdbx_leaving_atom_flag");
    for (int row = 0; row < atoms.rows(); ++row) {
      Component& component = found[atoms.required_text(row, code)];
      ComponentAtom atom{atoms.required_text(row, name), to_upper(atoms.required_text(row, element)),
                         to_upper(atoms.text(row, leaving)) == "Y"};
      if (component.find_atom(atom.name) >= 0) {
        throw InputError(atoms.where(row, name), "atom '" + atom.name + "' is defined twice in one component");
      }
      component.atoms.push_back(std::move(atom));
    }
  }
  const CifTable bonds(file, block, "_chem_comp_bond.");
  if (bonds.exists()) {
    const int code = bonds.require("comp_id");
    const int ends[2] = {bonds.require("atom_id_1"), bonds.require("atom_id_2")};
    const int order = bonds.find("value_order"), aromatic = bonds.find("pdbx_aromatic_flag");
    for (int row = 0; row < bonds.rows(); ++row) {
      Component& component = found[bonds.required_text(row, code)];
      int indices[2];
      for (int e = 0; e < 2; ++e) {
        const std::string name = bonds.required_text(row, ends[e]);
        indices[e] = component.find_atom(name);
        if (indices[e] < 0 && atoms.exists()) {
          throw InputError(bonds.where(row, ends[e]),
                           "the component has no atom '" + name + "'" + did_you_mean(name, atom_names(component)));
        }
        if (indices[e] < 0) {
          indices[e] = static_cast<int>(component.atoms.size());
          component.atoms.push_back({name, "", false});
        }
      }
      ComponentBond bond{indices[0], indices[1]};
      if (!bonds.is_null(row, order)) {
        const std::string name = bonds.text(row, order);
        const auto type = bond_type_of(name, to_upper(bonds.text(row, aromatic)) == "Y");
        if (!type) {
          throw InputError(bonds.where(row, order),
                           "unknown bond order '" + name + "'; known are " + join(bond_orders()));
        }
        bond.type = *type;
      }
      component.bonds.push_back(bond);
    }
  }
  const CifTable table(file, block, "_chem_comp.");
  if (table.exists()) {
    const int id = table.require("id"), type = table.find("type"), letter = table.find("one_letter_code");
    const int parent = table.find("mon_nstd_parent_comp_id");
    for (int row = 0; row < table.rows(); ++row) {
      const auto component = found.find(table.required_text(row, id));
      if (component == found.end()) continue;
      component->second.type = to_upper(table.text(row, type));
      component->second.one_letter = table.text(row, letter);
      component->second.parent = table.text(row, parent);
    }
  }
  for (auto& [code, component] : found) {
    component.code = code;
    dictionary.add(std::move(component));
  }
}

}  // namespace cpize::features
