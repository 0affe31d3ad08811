// A structure as read from a file: chains, residues (resolved or not), atoms and covalent links, as plain values.
//
// Text stays text: chain ids, author numbers and insertion codes are kept whole, exactly as typed. Coordinates are in
// angstrom. The one order of chains: as `_struct_asym` lists them (without that table, as they first appear among the
// atoms; in a FASTA file, as they are written). Waters are dropped. Features, outputs and JSON use this order.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "features/components.hpp"
#include "features/residue_types.hpp"

namespace cpize::features {

struct Atom {
  std::string name;
  std::string element;  ///< upper case symbol
  std::string alt_id;   ///< the alternate location that was chosen; empty if the file has none for this atom
  std::array<double, 3> position{};
  double occupancy = 1;
  double b_factor = 0;
  bool is_hydrogen() const { return element == "H" || element == "D"; }
};

struct Residue {
  std::string component;
  int position = 0;  ///< label_seq_id: 1-based place in the entity's sequence; non-polymers: 1-based place in the chain
  std::string author_number;   ///< empty if unresolved and the file does not say
  std::string insertion_code;  ///< empty if none
  std::vector<Atom> atoms;     ///< empty: unresolved
  bool resolved() const { return !atoms.empty(); }
  std::string author_id() const { return author_number + insertion_code; }
  const Atom* find_atom(const std::string& name) const;
};

struct Chain {
  std::string id;        ///< label_asym_id
  std::string author;    ///< auth_asym_id; equal to id if the file does not say
  std::string entity;    ///< the file's entity id
  int entity_index = 0;  ///< entities numbered from 0 in order of first use by a chain
  int sym_id = 0;        ///< how many earlier chains have the same entity
  MolType type = MolType::protein;
  int cyclic_period = 0;  ///< 0: not cyclic
  std::vector<Residue> residues;
  bool is_polymer() const { return type != MolType::nonpolymer; }
};

/// One end of a covalent link: indices into chains and residues, and the atom by name.
struct LinkEnd {
  int chain = 0, residue = 0;
  std::string atom;
};

struct Link {
  LinkEnd first, second;
  std::string id;  ///< as in the file
};

struct Structure {
  std::string source;  ///< the file's path
  std::string name;    ///< block name, or the path's stem
  std::string method;  ///< how it was determined, as _exptl.method says (the first of several); empty: not said
  std::vector<Chain> chains;
  std::vector<Link> links;
  ComponentDictionary components;  ///< the components that the file itself defines
  std::vector<std::string>
      warnings;  ///< each documented default that was used, and whatever was left out; said once each

  const Chain* find_chain(const std::string& id) const;
};

/// A residue by the reference that people write: author chain, colon, author number with insertion code ("A:1A",
/// "A:-3").
const Residue* find_author_residue(const Structure& structure, const std::string& reference);

/// Closes a chain to a ring: its cyclic_period becomes its number of residues. @throws InputError if there is no such
/// chain (with the nearest id) or it is no polymer of at least three residues.
void close_chain(Structure& structure, const std::string& id);

/// Numbers entities (in order of first use) and symmetric copies; the readers call it last.
void number_entities(Structure& structure);

}  // namespace cpize::features
