// Haemoglobin alpha (141 residues) with its alignment: every feature that the trunk reads but those of templates.
#pragma once
#include "features/token_features.hpp"

namespace cpize::parity {

/// A batch of `batch` samples on the CPU. Sample b has the first `depth - b` rows of the MSA (3,348 are there; at least
/// the query), so that depths differ inside a batch; shorter ones are padded. Behind the protein come `padding` padded
/// tokens, and as many padded rows. Structureless: from parity/data/1a00_A.fasta and 1a00_A_uniref90.a3m.
features::Features haemoglobin_features(int depth, int batch = 1, std::int64_t padding = 0);

}  // namespace cpize::parity
