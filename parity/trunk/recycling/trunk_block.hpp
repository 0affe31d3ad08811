// The trunk as a block to be proved: what its own case, the real protein, the profiles and the demo have in common.
#pragma once
#include "parity/harness/block_case.hpp"
#include "serial/trunk.hpp"
#include "trunk/recycling/trunk.hpp"

namespace cpize::parity {

/// Widths and depths of a small trunk, from the sizes C (token_z), token_s and blocks, and what it leaves out.
struct SmallTrunk {
  std::int64_t recycling_steps = 1;
  bool templates = false;   // random_trunk() alone draws features for them
  double dropout = 0;       // rate of every dropout, in training mode; 0: evaluation
  bool checkpoint = false;  // the port's layers keep their inputs alone
};
serial::TrunkOptions serial_options(const Sizes& sizes, const SmallTrunk& trunk);
trunk::TrunkOptions port_options(const Sizes& sizes, const SmallTrunk& trunk);

/// This rank's features by their published names; those of templates where the block declares them.
trunk::TrunkFeatures trunk_features(const ShardedTensors& in);

/// Parameters whose gradient is zero in exact arithmetic: the frozen projection, and what shifts all logits of a
/// softmax alike (in one MSA layer and `blocks` layers of the pairformer).
std::vector<std::string> without_gradient(std::int64_t blocks);

/// Adds outputs, models and the error budget to a block that declares the features of the trunk. Padded rows of the MSA
/// are those of the mask row_mask [B,S]; msa_mask also varies inside rows.
/// `blocks` layers in the pairformer. Sizes that must follow: C, token_s, S (MSA rows).
BlockCase as_trunk(BlockCase block, std::int64_t blocks, const SmallTrunk& trunk);

/// The trunk on random features; size T: templates.
BlockCase random_trunk(const std::string& name, const SmallTrunk& trunk);

}  // namespace cpize::parity
