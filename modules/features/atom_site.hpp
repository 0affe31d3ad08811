// The atoms of the first model as mmCIF lists them, before they are sorted into chains and residues.
#pragma once
#include <string>
#include <vector>

#include "features/cif_table.hpp"
#include "features/structure.hpp"

namespace cpize::features {

/// One row of _atom_site.
struct SiteAtom {
  Atom atom;
  std::string chain, component, entity;  ///< label_asym_id, label_comp_id, label_entity_id ("" if not given)
  int position = 0;                      ///< label_seq_id; 0: not given
  std::string author_chain, author_number, insertion_code;
  bool hetero = false;  ///< group_PDB is HETATM
  int row = 0;
};

/// Reads the rows of the first model. Defaults used are appended to `warnings`.
/// @throws InputError if there are none, or a required column or value is missing or malformed.
std::vector<SiteAtom> read_atom_site(const CifTable& table, std::vector<std::string>& warnings);

/// One residue's atoms with alternate locations resolved (rule: read_structure.hpp).
/// @throws InputError if an atom is there twice.
std::vector<Atom> resolve_alternates(const std::vector<const SiteAtom*>& sites, const CifTable& table);

}  // namespace cpize::features
