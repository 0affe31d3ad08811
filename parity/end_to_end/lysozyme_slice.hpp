// The pair slice on hen egg-white lysozyme (1aki, 129 residues): the case of the end-to-end proofs and of the demo.
#pragma once
#include "parity/harness/block_case.hpp"
#include "parity/harness/runs.hpp"

namespace cpize::parity {

/// Features are the first N tokens of the structure, read from parity/data; sample b of a batch starts b tokens later.
/// Widths are those of the released model unless given. 1aki has no token bonds (its disulfide bridges are none), so
/// the gradient of token_bonds.weight is zero and declared so.
BlockCase lysozyme_slice(std::int64_t token_s = 384, std::int64_t token_z = 128);

/// The whole protein and `padding` padded tokens; one sample a dp rank.
Run lysozyme_run(const BlockCase& block, const MeshShape& mesh, std::int64_t padding);

}  // namespace cpize::parity
