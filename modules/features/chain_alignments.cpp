#include "features/chain_alignments.hpp"

#include <algorithm>
#include <set>

#include "error/error.hpp"
#include "features/text.hpp"

namespace cpize::features {

namespace {

/// The letters that may stand for a residue, the usual one first; empty: any.
std::string letters_for(const Residue& residue, MolType type, const Structure& structure,
                        const ComponentDictionary& dictionary) {
  const std::string_view alphabet = letters_of(type);
  const char unknown = type == MolType::protein ? 'X' : 'N';
  std::string letters;
  for (const char letter : alphabet) {
    if (component_of_letter(type, letter)->component == residue.component) letters += letter;
  }
  if (residue_type_of(residue.component)) {
    // an unknown residue was written as any letter that is read as one
    if (residue.component == "N" || residue.component == "DN") letters = "NRYSWKMBDHV";
    return letters;
  }
  const Component* own = structure.components.find(residue.component);
  if (own == nullptr || own->one_letter.empty()) {
    if (const Component* known = dictionary.find(residue.component)) own = known;
  }
  const Component* parent = own == nullptr || own->parent.empty() ? nullptr : dictionary.find(own->parent);
  for (const Component* component : {own, parent}) {
    if (component == nullptr || component->one_letter.size() != 1) continue;
    const char letter = component->one_letter[0];
    if (alphabet.find(letter) != std::string_view::npos && letters.find(letter) == std::string::npos) letters += letter;
  }
  return letters.empty() ? letters : letters + unknown;
}

std::string entry(const std::string& letters, const std::string& component) {
  const std::string letter = letters.empty() ? "any letter" : "'" + letters.substr(0, 1) + "'";
  return letter + " (" + component + ")";
}

void check_query(const Alignment& alignment, const Chain& chain, const Structure& structure,
                 const ComponentDictionary& dictionary) {
  const std::string where = alignment.source + ":" + std::to_string(alignment.rows.front().line);
  const std::string head = "the first row, the query, is not the sequence of chain '" + chain.id + "' (" +
                           std::string(name_of(chain.type)) + "): ";
  const std::string lengths =
      "; query " + std::to_string(alignment.query.size()) + " residues, chain " + std::to_string(chain.residues.size());
  for (size_t i = 0; i < std::max(chain.residues.size(), alignment.query.size()); ++i) {
    const std::string place = "they first differ at position " + std::to_string(i + 1) + ": ";
    if (i >= chain.residues.size()) {
      throw InputError(where, head + place + "'" + alignment.query[i] + "' behind the chain's end" + lengths);
    }
    const Residue& residue = chain.residues[i];
    const std::string letters = letters_for(residue, chain.type, structure, dictionary);
    if (i >= alignment.query.size()) {
      throw InputError(where, head + place + "the query ends before " + entry(letters, residue.component) + lengths);
    }
    if (!letters.empty() && letters.find(alignment.query[i]) == std::string::npos) {
      throw InputError(where, head + place + "'" + alignment.query[i] + "' in the query, " +
                                  entry(letters, residue.component) + " in the chain" + lengths);
    }
  }
}

/// What the map says about `id`, or nullptr.
const std::string* find(const std::map<std::string, std::string>& files, const std::string& id) {
  const auto found = files.find(id);
  return found == files.end() ? nullptr : &found->second;
}

void check_names(const std::map<std::string, std::string>& files, const std::set<std::string>& known,
                 const std::string& what, const std::string& source) {
  for (const auto& [id, file] : files) {
    if (known.count(id) > 0) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    throw InputError(source, "alignment '" + file + "' is for " + what + " '" + id +
                                 "', which is not there; there are " + join(names) + did_you_mean(id, names));
  }
}

}  // namespace

ChainAlignments read_alignments(const Structure& structure, const AlignmentFiles& files,
                                const ComponentDictionary& components) {
  std::set<std::string> chains, entities;
  for (const auto& chain : structure.chains) {
    chains.insert(chain.id);
    entities.insert(chain.entity);
  }
  check_names(files.of_chain, chains, "chain", structure.source);
  check_names(files.of_entity, entities, "entity", structure.source);

  ChainAlignments result;
  std::map<std::pair<std::string, MolType>, std::shared_ptr<const Alignment>> read;
  for (const auto& chain : structure.chains) {
    const std::string* file = find(files.of_chain, chain.id);
    if (file == nullptr) file = find(files.of_entity, chain.entity);
    result.of_chain.push_back(nullptr);
    if (file == nullptr && chain.type == MolType::protein) {
      throw InputError(structure.source, "no alignment is named for chain '" + chain.id + "' (protein, entity '" +
                                             chain.entity + "'); name a file (.a3m, .csv), or '" +
                                             std::string(kSingleSequence) + "' to go without one");
    }
    if (file == nullptr || *file == kSingleSequence) continue;
    if (!chain.is_polymer()) {
      throw InputError(structure.source, "alignment '" + *file + "' is for chain '" + chain.id +
                                             "', which is no polymer; only proteins, DNA and RNA have one");
    }
    auto& alignment = read[{*file, chain.type}];
    if (!alignment) {
      alignment = std::make_shared<const Alignment>(read_alignment(*file, chain.type, files.keys));
      result.warnings.insert(result.warnings.end(), alignment->warnings.begin(), alignment->warnings.end());
    }
    check_query(*alignment, chain, structure, components);
    result.of_chain.back() = alignment;
  }
  return result;
}

ChainAlignments single_sequences(const Structure& structure) {
  return {std::vector<std::shared_ptr<const Alignment>>(structure.chains.size()), {}};
}

}  // namespace cpize::features
