#include "features/chain_builder.hpp"

#include <algorithm>
#include <map>

#include "error/error.hpp"
#include "features/text.hpp"

namespace cpize::features {

namespace {

using Sites = std::vector<const SiteAtom*>;

// Groups by key in order of first appearance.
template <typename Key, typename KeyOf>
std::vector<std::pair<Key, Sites>> group_by(const Sites& sites, KeyOf key_of) {
  std::vector<std::pair<Key, Sites>> groups;
  std::map<Key, size_t> place;
  for (const SiteAtom* site : sites) {
    const auto [found, fresh] = place.try_emplace(key_of(*site), groups.size());
    if (fresh) groups.push_back({found->first, {}});
    groups[found->second].second.push_back(site);
  }
  return groups;
}

Residue make_residue(const ChainContext& context, const Sites& sites, int position) {
  // several components at one place: the highest mean occupancy, the first of equals
  const auto groups = group_by<std::string>(sites, [](const SiteAtom& s) { return s.component; });
  const Sites* chosen = nullptr;
  double best = -1;
  for (const auto& [component, members] : groups) {
    double sum = 0;
    for (const SiteAtom* site : members) sum += site->atom.occupancy;
    if (const double mean = sum / static_cast<double>(members.size()); mean > best) {
      best = mean;
      chosen = &members;
    }
  }
  if (groups.size() > 1) {
    context.warnings.insert(
        "positions with several components (microheterogeneity): the one of highest occupancy is read");
  }
  const SiteAtom& first = *chosen->front();
  for (const SiteAtom* site : *chosen) {
    if (site->author_number != first.author_number || site->insertion_code != first.insertion_code) {
      throw InputError(context.table.where(site->row, context.table.find("label_seq_id")),
                       "position " + std::to_string(position) + " of chain " + first.chain +
                           " has two author numbers, " + first.author_number + first.insertion_code + " and " +
                           site->author_number + site->insertion_code + "; one position is one residue");
    }
  }
  return {first.component, position, first.author_number, first.insertion_code,
          resolve_alternates(*chosen, context.table)};
}

std::optional<MolType> type_of_component(const ChainContext& context, const std::string& code) {
  if (const auto standard = mol_type_of_standard(code)) return standard;
  if (const auto type = context.component_types.find(code); type != context.component_types.end()) {
    if (const auto known = mol_type_of_component_type(type->second)) return known;
  }
  const Component* component = context.dictionary.find(code);
  return component == nullptr ? std::nullopt : mol_type_of_component_type(component->type);
}

MolType type_of_polymer(const ChainContext& context, const Chain& chain) {
  std::map<MolType, int> votes;
  for (const auto& residue : chain.residues) {
    if (const auto type = type_of_component(context, residue.component)) ++votes[*type];
  }
  if (votes.empty()) {
    throw InputError(context.table.where(), "cannot tell the molecule type of polymer chain " + chain.id +
                                                ": none of its residues is known; add _entity_poly.type");
  }
  const auto best = std::max_element(votes.begin(), votes.end(), [](auto& a, auto& b) { return a.second < b.second; });
  if (votes.size() > 1)
    context.warnings.insert("chain " + chain.id + " mixes molecule types: it is read as " +
                            std::string(name_of(best->first)));
  return best->first;
}

std::vector<Residue> residues_of_sequence(const ChainContext& context, const Entity& entity, const Sites& sites) {
  std::map<int, Sites> by_position;
  const int length = static_cast<int>(entity.sequence.size());
  for (const SiteAtom* site : sites) {
    const int column = context.table.find("label_seq_id");
    if (site->position < 1 || site->position > length) {
      throw InputError(context.table.where(site->row, column),
                       "'" + (site->position == 0 ? std::string(".") : std::to_string(site->position)) +
                           "' is no place in the sequence of chain " + site->chain + "; expected 1 to " +
                           std::to_string(length));
    }
    const auto& allowed = entity.sequence[static_cast<size_t>(site->position - 1)];
    if (std::find(allowed.begin(), allowed.end(), site->component) == allowed.end()) {
      throw InputError(context.table.where(site->row, context.table.find("label_comp_id")),
                       "'" + site->component + "' at position " + std::to_string(site->position) + " of chain " +
                           site->chain + ", where _entity_poly_seq has " + join(allowed, " or "));
    }
    by_position[site->position].push_back(site);
  }
  std::vector<Residue> residues;
  for (int position = 1; position <= length; ++position) {
    if (const auto found = by_position.find(position); found != by_position.end()) {
      residues.push_back(make_residue(context, found->second, position));
    } else {
      residues.push_back({entity.sequence[static_cast<size_t>(position - 1)].front(), position, "", "", {}});
    }
  }
  return residues;
}

// Without a sequence: the residues present, at their label numbers, or counted where there are none.
std::vector<Residue> residues_present(const ChainContext& context, const Sites& sites) {
  std::vector<Residue> residues;
  const bool numbered = std::all_of(sites.begin(), sites.end(), [](const SiteAtom* s) { return s->position > 0; });
  if (numbered) {
    std::map<int, Sites> by_position;
    for (const SiteAtom* site : sites) by_position[site->position].push_back(site);
    for (const auto& [position, members] : by_position) residues.push_back(make_residue(context, members, position));
    return residues;
  }
  context.warnings.insert("no _atom_site.label_seq_id in a polymer: its residues are counted in the order of the file");
  const auto groups = group_by<std::pair<std::string, std::string>>(
      sites, [](const SiteAtom& s) { return std::pair(s.author_number, s.insertion_code); });
  for (const auto& [number, members] : groups) {
    residues.push_back(make_residue(context, members, static_cast<int>(residues.size()) + 1));
  }
  return residues;
}

Chain start_chain(const std::string& id, const std::string& entity, const Sites& sites) {
  Chain chain;
  chain.id = id;
  chain.author = sites.empty() ? id : sites.front()->author_chain;
  chain.entity = entity;
  return chain;
}

Chain build_polymer(const ChainContext& context, const std::string& id, const std::string& entity_id,
                    const Entity& entity, const Sites& sites) {
  Chain chain = start_chain(id, entity_id, sites);
  chain.residues =
      entity.sequence.empty() ? residues_present(context, sites) : residues_of_sequence(context, entity, sites);
  chain.type = entity.type ? *entity.type : type_of_polymer(context, chain);
  return chain;
}

Chain build_non_polymer(const ChainContext& context, const std::string& id, const std::string& entity,
                        const Sites& sites) {
  Chain chain = start_chain(id, entity, sites);
  chain.type = MolType::nonpolymer;
  const auto groups = group_by<std::array<std::string, 3>>(sites, [](const SiteAtom& s) {
    return std::array<std::string, 3>{s.component, s.author_number, s.insertion_code};
  });
  for (const auto& [key, members] : groups) {
    chain.residues.push_back(make_residue(context, members, static_cast<int>(chain.residues.size()) + 1));
  }
  return chain;
}

// The rows of a chain of unknown kind that belong to a polymer: those with a label number; where no row has one, the
// rows of standard residues in ATOM records.
Sites polymer_rows(const Sites& sites) {
  Sites numbered, standard;
  for (const SiteAtom* site : sites) {
    if (site->position > 0) numbered.push_back(site);
    if (!site->hetero && mol_type_of_standard(site->component)) standard.push_back(site);
  }
  return numbered.empty() ? standard : numbered;
}

std::vector<Chain> build_unknown(const ChainContext& context, const std::string& id, const std::string& entity,
                                 const Sites& sites) {
  const Sites polymer = polymer_rows(sites);
  if (polymer.empty()) return {build_non_polymer(context, id, entity, sites)};
  std::vector<Chain> chains{build_polymer(context, id, entity, Entity{}, polymer)};
  Sites rest;
  std::set_difference(sites.begin(), sites.end(), polymer.begin(), polymer.end(), std::back_inserter(rest),
                      [](const SiteAtom* a, const SiteAtom* b) { return a->row < b->row; });
  for (const auto& residue : group_by<std::array<std::string, 3>>(rest, [](const SiteAtom& s) {
         return std::array<std::string, 3>{s.component, s.author_number, s.insertion_code};
       })) {
    const auto& [component, number, insertion] = residue.first;
    const std::string name = id + "." + component + (number.empty() ? "" : "." + number + insertion);
    context.warnings.insert("chain " + id + " mixes polymer and ligands: each ligand becomes a chain, named like '" +
                            name + "'");
    chains.push_back(build_non_polymer(context, name, "", residue.second));
  }
  return chains;
}

}  // namespace

std::vector<Chain> build_chains(const ChainContext& context, const std::string& id, const std::string& entity_id,
                                const std::vector<const SiteAtom*>& all_sites) {
  Sites sites;
  for (const SiteAtom* site : all_sites) {
    if (!is_water(site->component)) sites.push_back(site);
  }
  const auto found = context.entities.entities.find(entity_id);
  const Entity entity = found == context.entities.entities.end() ? Entity{} : found->second;
  switch (entity.kind) {
    case Entity::Kind::water:
      if (!sites.empty()) {
        throw InputError(
            context.table.where(sites.front()->row, context.table.find("label_comp_id")),
            "'" + sites.front()->component + "' in chain " + id + ", whose entity " + entity_id + " is water");
      }
      return {};
    case Entity::Kind::polymer:
      if (sites.empty() && entity.sequence.empty()) return {};
      if (sites.empty())
        context.warnings.insert("polymer chain " + id + " has no atoms: all its residues are unresolved");
      return {build_polymer(context, id, entity_id, entity, sites)};
    case Entity::Kind::non_polymer:
      if (sites.empty()) {
        context.warnings.insert("non-polymer chain " + id + " has no atoms and is left out");
        return {};
      }
      return {build_non_polymer(context, id, entity_id, sites)};
    case Entity::Kind::unknown:
      break;
  }
  if (sites.empty()) return {};
  return build_unknown(context, id, entity_id, sites);
}

}  // namespace cpize::features
