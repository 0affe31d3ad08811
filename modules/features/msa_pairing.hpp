// Which row of which chain's alignment stands beside which: the rows of the MSA of a complex.
#pragma once
#include <vector>

#include "features/chain_alignments.hpp"

namespace cpize::features {

/// Numbers of rows, the query row counted in both.
struct MsaLimits {
  int paired = 8192;
  int rows = 16384;
};

struct MsaRow {
  std::vector<int> row;               ///< by chain: the row of its alignment; 0 the query, kNoRow: gaps
  std::vector<unsigned char> paired;  ///< by chain: 1 if the row is there by its key
  static constexpr int kNoRow = -1;
};

/// The rows, in this order:
/// 1. Every chain's query, paired.
/// 2. Rows paired by taxonomy key, until `limits.paired` rows in all: the keys that two or more chains have (copies of
///    one entity count as chains), those of most chains first, else in order of first use by chains and rows. A key
///    gives as many rows as the chain with most rows of it has; a chain with fewer repeats its own in turn. A chain
///    without the key is filled with its next unpaired row, not paired, or gaps if none is left.
/// 3. The rows that are not in 1 or 2, every chain's next beside the others' next, not paired, until `limits.rows` rows
///    in all. A chain whose rows are used up has gaps.
///
/// Rows that the limit of 2 cuts off go to 3. A chain without an alignment has its query only.
/// This is the published order, but for two of its faults: there, paired rows come again among the unpaired ones, and a
/// key that one chain alone has twice counts as paired.
/// @throws ContractError if a limit is less than 1.
std::vector<MsaRow> pair_rows(const ChainAlignments& alignments, const MsaLimits& limits = {});

}  // namespace cpize::features
