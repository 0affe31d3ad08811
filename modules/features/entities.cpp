#include "features/entities.hpp"

#include "error/error.hpp"
#include "features/text.hpp"

namespace cpize::features {

namespace {

Entity::Kind kind_named(const std::string& name, const std::string& where) {
  static const std::map<std::string, Entity::Kind> kinds = {{"polymer", Entity::Kind::polymer},
                                                            {"non-polymer", Entity::Kind::non_polymer},
                                                            {"branched", Entity::Kind::non_polymer},
                                                            {"macrolide", Entity::Kind::non_polymer},
                                                            {"water", Entity::Kind::water}};
  if (const auto found = kinds.find(to_lower(name)); found != kinds.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, kind] : kinds) names.push_back(known);
  throw InputError(where, "unknown entity type '" + name + "'; known are " + join(names) + did_you_mean(name, names));
}

// A hybrid's molecule type is decided by its residues: nothing is returned.
std::optional<MolType> polymer_type(const std::string& name, const std::string& where) {
  static const std::map<std::string, std::optional<MolType>> types = {
      {"polypeptide(l)", MolType::protein},        {"polypeptide(d)", MolType::protein},
      {"cyclic-pseudo-peptide", MolType::protein}, {"polydeoxyribonucleotide", MolType::dna},
      {"polyribonucleotide", MolType::rna},        {"polydeoxyribonucleotide/polyribonucleotide hybrid", std::nullopt}};
  if (const auto found = types.find(to_lower(name)); found != types.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, type] : types) names.push_back(known);
  throw InputError(where, "the model has no molecule type for a polymer of type '" + name + "' (known: " + join(names) +
                              "); remove that chain" + did_you_mean(name, names));
}

void read_sequences(const CifTable& table, std::map<std::string, Entity>& entities) {
  const int id = table.require("entity_id"), number = table.require("num"), component = table.require("mon_id");
  for (int row = 0; row < table.rows(); ++row) {
    Entity& entity = entities[table.required_text(row, id)];
    if (entity.kind == Entity::Kind::unknown) entity.kind = Entity::Kind::polymer;
    auto& sequence = entity.sequence;
    const int position = table.integer(row, number), length = static_cast<int>(sequence.size());
    if (position == length + 1) {
      sequence.emplace_back();
    } else if (position != length || length == 0) {
      throw InputError(table.where(row, number), "position " + std::to_string(position) + " follows position " +
                                                     std::to_string(length) +
                                                     "; a sequence counts from 1 without gaps");
    }
    sequence.back().push_back(table.required_text(row, component));
  }
}

}  // namespace

EntityTables read_entities(CifFile& file, gemmi::cif::Block& block, std::vector<std::string>& warnings) {
  EntityTables result;
  auto& entities = result.entities;
  const CifTable entity_table(file, block, "_entity."), polymers(file, block, "_entity_poly.");
  const CifTable sequences(file, block, "_entity_poly_seq."), chains(file, block, "_struct_asym.");
  if (entity_table.exists()) {
    const int id = entity_table.require("id"), type = entity_table.require("type");
    for (int row = 0; row < entity_table.rows(); ++row) {
      entities[entity_table.required_text(row, id)].kind =
          kind_named(entity_table.required_text(row, type), entity_table.where(row, type));
    }
  } else {
    warnings.push_back("no _entity table: the kind of each chain is told from its residues");
  }
  if (polymers.exists()) {
    const int id = polymers.require("entity_id"), type = polymers.require("type");
    for (int row = 0; row < polymers.rows(); ++row) {
      Entity& entity = entities[polymers.required_text(row, id)];
      if (entity.kind == Entity::Kind::unknown) entity.kind = Entity::Kind::polymer;
      if (entity.kind != Entity::Kind::polymer) {
        throw InputError(polymers.where(row, id), "entity " + polymers.text(row, id) + " is no polymer in _entity");
      }
      if (!polymers.is_null(row, type)) entity.type = polymer_type(polymers.text(row, type), polymers.where(row, type));
    }
  } else {
    warnings.push_back("no _entity_poly table: the molecule type of a polymer is told from its residues");
  }
  if (sequences.exists()) {
    read_sequences(sequences, entities);
  } else {
    warnings.push_back("no _entity_poly_seq table: a polymer's sequence is the residues present");
  }
  result.has_chain_table = chains.exists();
  if (chains.exists()) {
    const int id = chains.require("id"), entity = chains.require("entity_id");
    for (int row = 0; row < chains.rows(); ++row) {
      result.chains.emplace_back(chains.required_text(row, id), chains.required_text(row, entity));
    }
  } else {
    warnings.push_back("no _struct_asym table: chains are ordered as they first appear among the atoms");
  }
  return result;
}

}  // namespace cpize::features
