// Parity of the pair slice, a composition: features with NaN in their padding to z.
#include "parity/harness/block_parity.hpp"
#include "parity/trunk/pair_slice_block.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase pair_slice() {
  BlockCase features =
      with_bonds(with_position(with_input(BlockCase("pair_slice").mask<Single>("token_pad_mask", {"B", "N"}))));
  return as_pair_slice(features).size("C", 12).size("token_s", 16).cost_size({{"N", 96}, {"C", 128}, {"token_s", 64}});
}

CPIZE_PARITY_MAIN(pair_slice)
