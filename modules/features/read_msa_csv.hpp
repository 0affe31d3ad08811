// Reads an alignment as CSV with taxonomy keys (columns `key` and `sequence`); strict.
#pragma once
#include <string>

#include "features/alignment.hpp"

namespace cpize::features {

/// Reads a CSV file whose first line names the columns `key` and `sequence`, in either order. A sequence is a row in
/// a3m letters (read_a3m.hpp); the first row is the query. Rows of two chains with the same key are paired. An empty
/// key and -1 are no key; any other text is one, compared as typed. Values may stand in double quotes.
///
/// A row without a key whose letters stood in an earlier row is left out and counted; a row with a key never is, since
/// it may pair.
/// @throws InputError with file and line, where it can with the place in the line: other columns, a line of more or
/// fewer than two values, an empty sequence, and as read_a3m.
Alignment read_msa_csv(const std::string& path, MolType type);

}  // namespace cpize::features
