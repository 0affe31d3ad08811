// Parity of token bonds and their types.
#include "trunk/input/token_bonds.hpp"

#include "parity/harness/block_parity.hpp"
#include "parity/trunk/input/conditioning_features.hpp"
#include "serial/token_bonds.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase token_bonds() {
  return with_bond_types(with_bonds(BlockCase("token_bonds").mask<Single>("token_pad_mask", {"B", "N"})))
      .output("y", {"B", "N", "N", "C"})
      .masked_by("token_pad_mask")
      .serial([](const Sizes& s) { return serial::TokenBonds(s["C"]); },
              [](auto& block, const Tensors& in) {
                return Tensors{{"y", block(in["token_bonds"], in["type_bonds"])}};
              })
      .port([](const Sizes& s) { return trunk::TokenBonds(s["C"]); },
            [](auto& block, const ShardedTensors& in) {
              return ShardedTensors{{"y", block(in.get<Pair>("token_bonds"), in.get<Pair>("type_bonds"))}};
            })
      .contraction({"2"})
      .cost_size({{"N", 144}, {"C", 64}})
      .bound("sent_bytes.forward", [](const CostPoint&) { return 0.; })
      .bound("sent_bytes.backward", [](const CostPoint&) { return 0.; })
      .bound("peak_bytes.forward", [](const CostPoint& p) { return 2 * p.b(); })
      .bound("peak_bytes.step", [](const CostPoint& p) { return 2 * p.b(); });
}

CPIZE_PARITY_MAIN(token_bonds)
