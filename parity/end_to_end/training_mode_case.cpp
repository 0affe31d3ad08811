// Phase 5: the trunk in training mode. Dropout in every pass, activation checkpointing in every layer: forward and
// gradients equal those of the serial model with the same streams, and the peak is that of checkpoints.
#include "parity/end_to_end/haemoglobin_trunk.hpp"
#include "parity/harness/block_parity.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase training_mode() {
  return haemoglobin_trunk({.recycling_steps = 1, .dropout = 0.25, .checkpoint = true});
}

CPIZE_PARITY_MAIN(training_mode)
