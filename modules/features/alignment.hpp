// The alignment of one chain: the query and its homologues, as residue types and deletion counts by query column.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "features/residue_types.hpp"

namespace cpize::features {

/// Residue type of a gap.
inline constexpr int kGap = 1;

/// Letters of a homologue that stand in front of a column of the query (lower case in a3m); those behind the last
/// column belong to none and are left out.
struct Deletion {
  int column = 0, count = 0;
};

struct AlignmentRow {
  std::string name;                    ///< the header line without '>'; empty in a CSV file
  std::string key;                     ///< taxonomy key, text exactly as typed; empty: none
  int line = 0;                        ///< of the file, where the row starts
  std::vector<std::uint8_t> residues;  ///< by column: ids of residue_types.hpp, kGap for a gap
  std::vector<Deletion> deletions;     ///< by rising column
};

struct Alignment {
  std::string source;               ///< the file's path
  MolType type = MolType::protein;  ///< the alphabet that the letters were read in
  std::string query;                ///< letters of the query row, as typed
  std::vector<AlignmentRow> rows;   ///< the first is the query: no gaps, no deletions
  int duplicates = 0;               ///< rows left out (rule: read_a3m.hpp, read_msa_csv.hpp)
  std::vector<std::string> warnings;

  int columns() const { return static_cast<int>(query.size()); }
  int keyed_rows() const;  ///< rows with a taxonomy key
};

/// The residue type of an alignment's upper-case letter in the alphabet of `type`, so that equal letters of a protein
/// and a nucleic acid share no id. Protein: 20 amino acids, and X U O B Z J as UNK. DNA and RNA: A C G and T or U, and
/// N and the ambiguity codes R Y S W K M B D H V as unknown nucleotides. Nothing for any other letter: T in RNA, U in
/// DNA.
std::optional<int> alignment_residue(MolType type, char letter);

}  // namespace cpize::features
