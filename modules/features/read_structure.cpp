#include "features/read_structure.hpp"

#include <algorithm>
#include <set>

#include "error/error.hpp"
#include "features/atom_site.hpp"
#include "features/chain_builder.hpp"
#include "features/components_cif.hpp"
#include "features/methods.hpp"
#include "features/struct_conn.hpp"
#include "features/text.hpp"

namespace cpize::features {

namespace {

gemmi::cif::Block& block_with_atoms(CifFile& file) {
  gemmi::cif::Block* chosen = nullptr;
  for (auto& block : file.document.blocks) {
    if (!CifTable(file, block, "_atom_site.").exists()) continue;
    if (chosen != nullptr) {
      throw InputError(file.path, "blocks data_" + chosen->name + " and data_" + block.name +
                                      " both hold atoms; expected one structure a file, split it");
    }
    chosen = &block;
  }
  if (chosen != nullptr) return *chosen;
  std::vector<std::string> categories;
  for (auto& block : file.document.blocks) {
    for (auto& category : block.get_mmcif_category_names()) categories.push_back(category);
  }
  const std::string near = categories.empty() ? "" : "; it has " + join(categories).substr(0, 200);
  throw InputError(file.path,
                   "has no _atom_site table: no atoms were read" + near + "; give a coordinate file in mmCIF format");
}

// Chain ids in the stated order with their entity ids, and the atoms of each.
struct Asym {
  std::string id, entity;
  std::vector<const SiteAtom*> sites;
};

std::vector<Asym> order_chains(const std::vector<SiteAtom>& sites, const EntityTables& entities,
                               const CifTable& table) {
  std::vector<Asym> chains;
  std::map<std::string, size_t> place;
  for (const auto& [id, entity] : entities.chains) {
    if (!place.try_emplace(id, chains.size()).second)
      throw InputError(table.where(), "_struct_asym lists chain " + id + " twice");
    chains.push_back({id, entity, {}});
  }
  for (const auto& site : sites) {
    const auto [found, fresh] = place.try_emplace(site.chain, chains.size());
    if (fresh && entities.has_chain_table) {
      std::vector<std::string> names;
      for (const auto& chain : chains) names.push_back(chain.id);
      throw InputError(table.where(site.row, table.find("label_asym_id")),
                       "chain '" + site.chain + "' is not in _struct_asym; it lists " + join(names));
    }
    if (fresh) chains.push_back({site.chain, site.entity, {}});
    Asym& chain = chains[found->second];
    if (!site.entity.empty() && site.entity != chain.entity) {
      throw InputError(table.where(site.row, table.find("label_entity_id")),
                       "entity '" + site.entity + "' for an atom of chain " + chain.id + ", which is of entity '" +
                           chain.entity + "'");
    }
    chain.sites.push_back(&site);
  }
  return chains;
}

// Chains without an entity id of the file: equal molecule type and sequence is one entity.
void name_entities(std::vector<Chain>& chains) {
  std::set<std::string> taken;
  std::map<std::string, std::string> by_content;
  for (const auto& chain : chains) taken.insert(chain.entity);
  int next = 1;
  for (auto& chain : chains) {
    if (!chain.entity.empty()) continue;
    std::string content(name_of(chain.type));
    for (const auto& residue : chain.residues)
      content += " " + std::to_string(residue.position) + ":" + residue.component;
    std::string& entity = by_content[content];
    while (entity.empty()) {
      const std::string candidate = std::to_string(next++);
      if (taken.insert(candidate).second) entity = candidate;
    }
    chain.entity = entity;
  }
}

std::string read_method(const CifTable& table, std::vector<std::string>& warnings) {
  if (!table.exists()) return "";  // structures of other programs have none
  std::vector<std::string> methods;
  const int column = table.find("method");
  for (int row = 0; row < table.rows(); ++row) {
    if (!table.is_null(row, column)) methods.push_back(table.text(row, column));
  }
  if (methods.empty()) return "";
  if (methods.size() > 1) warnings.push_back("several methods (" + join(methods) + "): the first is used");
  if (!method_id(methods.front())) {
    warnings.push_back("method '" + methods.front() + "' has no number of its own: it counts as another experiment");
  }
  return methods.front();
}

}  // namespace

Structure read_structure(const std::string& path, const ComponentDictionary& components) {
  CifFile file = CifFile::read(path);
  gemmi::cif::Block& block = block_with_atoms(file);
  Structure structure;
  structure.source = path;
  structure.name = block.name;
  structure.method = read_method(CifTable(file, block, "_exptl."), structure.warnings);
  const CifTable table(file, block, "_atom_site.");
  const std::vector<SiteAtom> sites = read_atom_site(table, structure.warnings);
  const EntityTables entities = read_entities(file, block, structure.warnings);
  const auto component_types = component_types_of_block(file, block);
  add_components_of_block(file, block, structure.components);

  std::set<std::string> warnings;
  const ChainContext context{table, entities, component_types, components, warnings};
  ChainIndex index;
  for (const Asym& asym : order_chains(sites, entities, table)) {
    auto& places = index.chains[asym.id];
    for (Chain& chain : build_chains(context, asym.id, asym.entity, asym.sites)) {
      places.push_back(static_cast<int>(structure.chains.size()));
      if (const auto entity = entities.entities.find(asym.entity); entity != entities.entities.end()) {
        index.entity[places.back()] = &entity->second;
      }
      structure.chains.push_back(std::move(chain));
    }
  }
  if (structure.chains.empty())
    throw InputError(table.where(), "holds only waters, which are dropped: nothing is left to read");
  std::set<std::string> ids;
  for (const auto& chain : structure.chains) {
    if (!ids.insert(chain.id).second) throw InputError(table.where(), "two chains would be named '" + chain.id + "'");
  }
  name_entities(structure.chains);
  number_entities(structure);
  read_links(CifTable(file, block, "_struct_conn."), index, structure);
  structure.warnings.insert(structure.warnings.end(), warnings.begin(), warnings.end());
  return structure;
}

}  // namespace cpize::features
