#include "features/contact_features.hpp"

#include <algorithm>
#include <sstream>

#include "error/error.hpp"
#include "features/text.hpp"

namespace cpize::features {

namespace {

using Indices = std::vector<std::int64_t>;

std::string text_of(double value) {
  std::ostringstream stream;
  stream << value;
  return stream.str();
}

/// Looks tokens up by the names that people use.
class TokenFinder {
 public:
  TokenFinder(const Structure& structure, const TokenisedStructure& tokenised)
      : structure_(structure), tokens_(tokenised.tokens) {}

  Indices chain(const std::string& id, const std::string& where) const {
    Indices found;
    const int chain = chain_index(id, where);
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].chain == chain) found.push_back(static_cast<std::int64_t>(i));
    }
    return found;
  }

  Indices tokens(const TokenReference& reference, const std::string& where) const {
    const int chain = chain_index(reference.chain, where);
    const auto& residues = structure_.chains[static_cast<size_t>(chain)].residues;
    const auto residue = std::find_if(residues.begin(), residues.end(),
                                      [&](const Residue& r) { return r.position == reference.position; });
    if (residue == residues.end()) {
      throw InputError(where, "chain '" + reference.chain + "' has no residue " + std::to_string(reference.position) +
                                  "; its residues are " + std::to_string(residues.front().position) + " to " +
                                  std::to_string(residues.back().position));
    }
    Indices all, found;
    std::vector<std::string> atoms;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].chain != chain || tokens_[i].residue != residue - residues.begin()) continue;
      all.push_back(static_cast<std::int64_t>(i));
      atoms.push_back(tokens_[i].atom);
      if (tokens_[i].atom == reference.atom) found.push_back(all.back());
    }
    if (reference.atom.empty()) return all;
    if (found.empty()) {
      const std::string has = atoms.size() == 1 && atoms[0].empty()
                                  ? "it is one token, name it without an atom"
                                  : "it has " + join(atoms) + did_you_mean(reference.atom, atoms);
      throw InputError(where, residue->component + " " + std::to_string(reference.position) + " of chain '" +
                                  reference.chain + "' has no token of atom '" + reference.atom + "'; " + has);
    }
    return found;
  }

 private:
  int chain_index(const std::string& id, const std::string& where) const {
    std::vector<std::string> names;
    for (size_t c = 0; c < structure_.chains.size(); ++c) {
      if (structure_.chains[c].id == id) return static_cast<int>(c);
      names.push_back(structure_.chains[c].id);
    }
    throw InputError(where, "there is no chain '" + id + "'; chains: " + join(names) + did_you_mean(id, names));
  }

  const Structure& structure_;
  const std::vector<Token>& tokens_;
};

/// Pairs that constraints have claimed.
class Conditioning {
 public:
  explicit Conditioning(std::int64_t tokens)
      : classes_(at::full({tokens, tokens}, static_cast<int>(ContactClass::unselected), at::kLong)),
        thresholds_(at::zeros({tokens, tokens})) {}

  /// One constraint: `from` x `to` gets `there`, and `to` x `from` gets `back`. True if a pair was not so before.
  bool set(const Indices& from, const Indices& to, ContactClass there, ContactClass back, double distance,
           const std::string& where) {
    bool changed = false;
    for (const auto i : from) {
      for (const auto j : to) {
        changed = set_pair(i, j, there, distance, where) || changed;
        changed = set_pair(j, i, back, distance, where) || changed;
      }
    }
    return changed;
  }

  void write(Features& features) const {
    // new tensors: copies of the dictionary share the old ones
    features["contact_conditioning"] =
        at::zeros_like(features.at("contact_conditioning")).scatter_(2, classes_.unsqueeze(2), 1);
    features["contact_threshold"] = thresholds_;
  }

 private:
  bool set_pair(std::int64_t i, std::int64_t j, ContactClass value, double distance, const std::string& where) {
    auto& known = classes_.data_ptr<std::int64_t>()[i * classes_.size(1) + j];
    auto& threshold = thresholds_.data_ptr<float>()[i * classes_.size(1) + j];
    const auto wanted = static_cast<std::int64_t>(value);
    const auto wanted_threshold = static_cast<float>(distance);
    if (known == wanted && threshold == wanted_threshold) return false;
    if (known != static_cast<std::int64_t>(ContactClass::unselected)) {
      throw InputError(
          where, "contradicts an earlier constraint about tokens " + std::to_string(i) + " and " + std::to_string(j));
    }
    known = wanted;
    threshold = wanted_threshold;
    return true;
  }

  at::Tensor classes_, thresholds_;
};

void check_distance(double distance, const std::string& where) {
  if (distance >= kShortestContact && distance <= kLongestContact) return;
  throw InputError(where, "max_distance " + text_of(distance) + " angstrom; expected " + text_of(kShortestContact) +
                              " to " + text_of(kLongestContact));
}

void check_effect(bool changed, const std::string& where) {
  if (!changed) throw InputError(where, "has no effect: earlier constraints say the same");
}

}  // namespace

void add_contact_constraints(Features& features, const Structure& structure, const TokenisedStructure& tokenised,
                             const ContactConstraints& constraints) {
  if (constraints.pockets.empty() && constraints.contacts.empty()) return;
  const TokenFinder finder(structure, tokenised);
  Conditioning conditioning(static_cast<std::int64_t>(tokenised.tokens.size()));
  for (size_t k = 0; k < constraints.pockets.size(); ++k) {
    const PocketConstraint& pocket = constraints.pockets[k];
    const std::string where = structure.source + ", pocket constraint " + std::to_string(k + 1);
    check_distance(pocket.max_distance, where);
    const Indices binder = finder.chain(pocket.binder, where);
    if (pocket.contacts.empty()) throw InputError(where, "names no contact: it would have no effect");
    for (const auto& contact : pocket.contacts) {
      const Indices tokens = finder.tokens(contact, where);
      if (contact.chain == pocket.binder) {
        throw InputError(where, "contact " + std::to_string(contact.position) + " is in the binder, chain '" +
                                    pocket.binder + "', itself");
      }
      check_effect(conditioning.set(binder, tokens, ContactClass::binder_to_pocket, ContactClass::pocket_to_binder,
                                    pocket.max_distance, where),
                   where);
    }
  }
  for (size_t k = 0; k < constraints.contacts.size(); ++k) {
    const ContactConstraint& contact = constraints.contacts[k];
    const std::string where = structure.source + ", contact constraint " + std::to_string(k + 1);
    check_distance(contact.max_distance, where);
    const Indices first = finder.tokens(contact.first, where), second = finder.tokens(contact.second, where);
    for (const auto token : first) {
      if (std::find(second.begin(), second.end(), token) != second.end())
        throw InputError(where, "is between a token and itself (token " + std::to_string(token) + ")");
    }
    check_effect(
        conditioning.set(first, second, ContactClass::contact, ContactClass::contact, contact.max_distance, where),
        where);
  }
  conditioning.write(features);
}

}  // namespace cpize::features
