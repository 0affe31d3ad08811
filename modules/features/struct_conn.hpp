// The covalent links of an mmCIF file's _struct_conn table.
#pragma once
#include "features/cif_table.hpp"
#include "features/entities.hpp"
#include "features/structure.hpp"

namespace cpize::features {

/// What the reader knows about the chains of the file beside the structure itself.
struct ChainIndex {
  std::map<std::string, std::vector<int>> chains;  ///< label_asym_id -> indices into structure.chains; empty: dropped
  std::map<int, const Entity*> entity;             ///< index into structure.chains -> its entity, where the file has it
};

/// Appends the covalent links to `structure.links` (rule: read_structure.hpp).
/// @throws InputError if a link names a chain, residue or atom that is not there.
void read_links(const CifTable& table, const ChainIndex& index, Structure& structure);

}  // namespace cpize::features
