// Parity of the trunk with one recycling pass, on random features, templates among them: every part, and the seams
// between them.
#include "parity/harness/block_parity.hpp"
#include "parity/trunk/recycling/trunk_block.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase recycling() {
  return random_trunk("recycling", {.recycling_steps = 1, .templates = true})
      .cost_size({{"N", 64}, {"C", 32}, {"token_s", 64}, {"S", 32}});
}

CPIZE_PARITY_MAIN(recycling)
