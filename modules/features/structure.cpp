#include "features/structure.hpp"

#include <map>

#include "error/error.hpp"
#include "features/text.hpp"

namespace cpize::features {

const Atom* Residue::find_atom(const std::string& atom) const {
  for (const auto& candidate : atoms) {
    if (candidate.name == atom) return &candidate;
  }
  return nullptr;
}

const Chain* Structure::find_chain(const std::string& id) const {
  for (const auto& chain : chains) {
    if (chain.id == id) return &chain;
  }
  return nullptr;
}

const Residue* find_author_residue(const Structure& structure, const std::string& reference) {
  // the chain name may itself hold a colon; the number never does
  const size_t colon = reference.rfind(':');
  if (colon == std::string::npos) return nullptr;
  const std::string chain_name = reference.substr(0, colon), number = reference.substr(colon + 1);
  for (const auto& chain : structure.chains) {
    if (chain.author != chain_name) continue;
    for (const auto& residue : chain.residues) {
      if (!residue.author_number.empty() && residue.author_id() == number) return &residue;
    }
  }
  return nullptr;
}

void close_chain(Structure& structure, const std::string& id) {
  std::vector<std::string> names;
  for (auto& chain : structure.chains) {
    names.push_back(chain.id);
    if (chain.id != id) continue;
    if (!chain.is_polymer() || chain.residues.size() < 3) {
      throw InputError(structure.source,
                       "chain '" + id + "' cannot be cyclic: it is a " + std::string(name_of(chain.type)) + " of " +
                           std::to_string(chain.residues.size()) + " residue(s); expected a polymer of at least 3");
    }
    chain.cyclic_period = static_cast<int>(chain.residues.size());
    return;
  }
  throw InputError(structure.source,
                   "there is no chain '" + id + "'; chains: " + join(names) + did_you_mean(id, names));
}

void number_entities(Structure& structure) {
  std::map<std::string, int> index, copies;
  for (auto& chain : structure.chains) {
    chain.entity_index = index.try_emplace(chain.entity, static_cast<int>(index.size())).first->second;
    chain.sym_id = copies[chain.entity]++;
  }
}

}  // namespace cpize::features
