// Sorts the atoms of one label_asym id into residues and chains.
#pragma once
#include <set>

#include "features/atom_site.hpp"
#include "features/entities.hpp"

namespace cpize::features {

/// Everything that the chains of one file share.
struct ChainContext {
  const CifTable& table;  ///< _atom_site, for messages
  const EntityTables& entities;
  const std::map<std::string, std::string>& component_types;  ///< _chem_comp.type of the file
  const ComponentDictionary& dictionary;
  std::set<std::string>& warnings;  ///< said once each
};

/// The chains of one label_asym id: one; several where a file without entity tables mixes polymer and ligands; none
/// where all is water, or a non-polymer has no atoms. `entity` is the entity id by _struct_asym or _atom_site, "" if
/// neither says.
std::vector<Chain> build_chains(const ChainContext& context, const std::string& id, const std::string& entity,
                                const std::vector<const SiteAtom*>& sites);

}  // namespace cpize::features
