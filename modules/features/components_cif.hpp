// Components as mmCIF defines them: the tables _chem_comp, _chem_comp_atom and _chem_comp_bond of one block.
#pragma once
#include "features/cif_table.hpp"
#include "features/components.hpp"

namespace cpize::features {

/// Adds the components of a block to `dictionary`: those with rows in _chem_comp_atom or _chem_comp_bond. A component
/// with bond rows only (no atom table) gets its atoms from the bonds, their elements unknown ("").
void add_components_of_block(CifFile& file, gemmi::cif::Block& block, ComponentDictionary& dictionary);

/// The types (_chem_comp.type) by code; empty without that table.
std::map<std::string, std::string> component_types_of_block(CifFile& file, gemmi::cif::Block& block);

}  // namespace cpize::features
