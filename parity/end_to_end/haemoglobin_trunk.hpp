// The trunk on haemoglobin alpha (1a00 chain A, 141 residues) with its alignment: the case of the end-to-end proofs and
// of the demo.
#pragma once
#include "parity/harness/runs.hpp"
#include "parity/trunk/recycling/trunk_block.hpp"

namespace cpize::parity {

/// Features are the first N tokens of the chain and the first S rows of its alignment; sample b of a batch starts b
/// tokens and rows later. The chain has no token bonds, is not cyclic, and nobody asks for contacts: gradients of what
/// embeds those are zero and declared so (recycling_case.cpp trains them). Small widths: token_s 64, token_z 32.
BlockCase haemoglobin_trunk(const SmallTrunk& trunk = {});

/// The protein's first `tokens` (0: the whole of it) and `padding` padded ones; one sample a dp rank.
Run haemoglobin_run(const BlockCase& block, const MeshShape& mesh, std::int64_t padding, std::int64_t tokens = 0);

}  // namespace cpize::parity
