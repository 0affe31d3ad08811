// Reads a FASTA file with typed headers (`>A|protein`) into a Structure without coordinates; strict.
#pragma once
#include <string>

#include "features/structure.hpp"

namespace cpize::features {

/// The longest chain id that a FASTA header may give. Ids are kept whole.
inline constexpr size_t kLongestChainId = 64;

/// Reads `>id|type` entries; type is protein, dna, rna (sequence: one letter a residue) or ccd (the "sequence" is a
/// component code). A third header field, the alignment of Boltz inputs, may be empty or `empty` (a single sequence); a
/// path is refused here.
///
/// Chains keep the order of the file. Equal type and sequence is one entity. Letters are read in the alphabet of the
/// chain's type (residue_types.hpp), lower case as upper; U and O in a protein are selenocysteine and pyrrolysine; B, Z
/// and J are read as unknown residues with a warning. Wrapped lines, CRLF and a byte-order mark do not matter; blank
/// lines are skipped.
/// @throws InputError with line and column: unknown letter, T in RNA, U in DNA, empty sequence, duplicate, empty or too
/// long id,
///   unknown type (with the nearest), text before the first header, missing field.
Structure read_fasta(const std::string& path, const ComponentDictionary& components = ComponentDictionary::standard());

}  // namespace cpize::features
