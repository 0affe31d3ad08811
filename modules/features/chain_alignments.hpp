// Which alignment belongs to which chain: said explicitly, and checked against the chain's sequence.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "features/alignment.hpp"
#include "features/read_a3m.hpp"
#include "features/structure.hpp"

namespace cpize::features {

/// Written in place of a file: this chain has no alignment, on purpose (a file of that name: "./empty").
inline constexpr std::string_view kSingleSequence = "empty";

/// Alignment files (.a3m, .csv) or kSingleSequence, by entity id (for all chains of the entity) and by chain id, which
/// goes before. A protein must be named in one of the two; DNA and RNA may be; non-polymers have no alignment.
struct AlignmentFiles {
  std::map<std::string, std::string> of_entity;
  std::map<std::string, std::string> of_chain;
  A3mKeys keys = A3mKeys::tax_id;
};

/// By the chain's index in the structure; null: a single sequence. Chains that name the same file share its alignment.
struct ChainAlignments {
  std::vector<std::shared_ptr<const Alignment>> of_chain;
  std::vector<std::string> warnings;
};

/// Reads each file once, in the alphabet of the chain's type, and compares its query with the chain's sequence in one
/// letter codes, before anything is tokenised: a modified residue may stand as its own letter, its parent's, or X (N in
/// nucleic acids); selenocysteine as U, pyrrolysine as O; an unknown residue as any letter for unknown ones; a
/// component whose definition gives no letter as anything.
/// @throws InputError naming file and line, the first place where query and chain differ and both letters; a protein
/// that no alignment is named for; an entity or chain id that the structure does not have (with the nearest).
ChainAlignments read_alignments(const Structure& structure, const AlignmentFiles& files,
                                const ComponentDictionary& components = ComponentDictionary::standard());

/// No alignment for any chain, on purpose.
ChainAlignments single_sequences(const Structure& structure);

}  // namespace cpize::features
