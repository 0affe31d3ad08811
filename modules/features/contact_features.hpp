// Contact conditioning: what people know about contacts, as features of token pairs.
#pragma once
#include <string>
#include <vector>

#include "features/token_features.hpp"

namespace cpize::features {

/// The values of `contact_conditioning`, one-hot.
enum class ContactClass { unspecified = 0, unselected = 1, pocket_to_binder = 2, binder_to_pocket = 3, contact = 4 };

/// A residue by its chain id and place in the sequence (from 1: Residue::position), or one of its atoms.
struct TokenReference {
  std::string chain;
  int position = 1;
  std::string atom = {};  ///< needed where a residue has a token an atom, and only one of them is meant
};

/// Some token of chain `binder` is within `max_distance` of each named one.
struct PocketConstraint {
  std::string binder;
  std::vector<TokenReference> contacts;
  double max_distance = 6;  ///< angstrom
};

/// Two tokens, or two residues of atom tokens, are within `max_distance`.
struct ContactConstraint {
  TokenReference first, second;
  double max_distance = 6;  ///< angstrom
};

struct ContactConstraints {
  std::vector<PocketConstraint> pockets;
  std::vector<ContactConstraint> contacts;
};

/// The range of max_distance, which the model scales by.
inline constexpr double kShortestContact = 4, kLongestContact = 20;

/// Writes constraints into `contact_conditioning` [N,N,5] and `contact_threshold` [N,N]. With at least one constraint
/// all other pairs become `unselected`; without one nothing changes (`unspecified`, 0). A pocket's contact t and the
/// binder's tokens b: [b,t] binder_to_pocket, [t,b] pocket_to_binder. Contacts: both ways. The threshold is
/// max_distance there.
/// @throws InputError naming the constraint: a chain, residue or atom that is not there (with what is), a distance
/// outside the range, a pocket without contacts or with one in its own binder, a contact of a token with itself, a
/// constraint that contradicts an earlier one or, without effect, repeats it.
void add_contact_constraints(Features& features, const Structure& structure, const TokenisedStructure& tokenised,
                             const ContactConstraints& constraints);

}  // namespace cpize::features
