// Entities of an mmCIF file: what kind of molecule each is, and a polymer's sequence.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "features/cif_table.hpp"
#include "features/residue_types.hpp"

namespace cpize::features {

struct Entity {
  enum class Kind { unknown, polymer, non_polymer, water };
  Kind kind = Kind::unknown;
  std::optional<MolType> type;  ///< of a polymer, where _entity_poly.type says it
  /// By position - 1: the components that the sequence allows there (several: microheterogeneity, in file order).
  std::vector<std::vector<std::string>> sequence;
};

struct EntityTables {
  std::map<std::string, Entity> entities;
  std::vector<std::pair<std::string, std::string>> chains;  ///< _struct_asym: chain id and entity id, in order
  bool has_chain_table = false;
};

/// Reads _entity, _entity_poly, _entity_poly_seq and _struct_asym; an absent one is a warning.
EntityTables read_entities(CifFile& file, gemmi::cif::Block& block, std::vector<std::string>& warnings);

}  // namespace cpize::features
