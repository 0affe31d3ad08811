// Reads an alignment in a3m format, as search servers and databases leave it; strict.
#pragma once
#include <string>

#include "features/alignment.hpp"

namespace cpize::features {

/// Where taxonomy keys of an a3m file come from.
enum class A3mKeys {
  tax_id,         ///< a header's field "tax_id:9606", written for pairing
  uniref_headers  ///< also "TaxID=9606" of UniRef headers. Not the default: it names the common ancestor of a cluster's
                  ///< members, not always a species. A bare UniRef100 id needs a database and gives no key.
};

/// Reads an a3m file: header lines (">name ...", cut off by blanks or tabs or neither), then letters, on one line or
/// wrapped.
///
/// * The first row is the query: upper case only, no gaps. Every other row has as many columns (upper case and gaps).
/// * Lower case is an insertion, counted in front of the next column. `.` is ignored. Lines that start with `#` or `;`
///   are comments. Blank lines, CRLF, a byte-order mark, a `*` at a row's end and NUL bytes at the file's ends do not
///   matter.
/// * Letters are read in the alphabet of the chain's type (alignment_residue).
/// * A row whose letters (no gaps, upper case) stood in an earlier row is left out and counted.
/// @throws InputError with file and line, where it can with the place in the line: a row without letters, of another
/// length than the query, with an unknown letter; text before the first header; lower case or a gap in the query; a
/// second alignment behind a NUL byte; a file without rows.
Alignment read_a3m(const std::string& path, MolType type, A3mKeys keys = A3mKeys::tax_id);

/// Reads a file as its name says: `.csv` (read_msa_csv.hpp) or `.a3m`. @throws InputError for any other ending.
Alignment read_alignment(const std::string& path, MolType type, A3mKeys keys = A3mKeys::tax_id);

}  // namespace cpize::features
