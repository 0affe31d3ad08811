// Parity of the b-factor head.
#include "trunk/heads/bfactor.hpp"

#include "parity/harness/block_parity.hpp"
#include "serial/bfactor.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase bfactor() {
  return BlockCase("bfactor")
      .mask<Single>("token_pad_mask", {"B", "N"})  // not read: says where the padding is
      .input<Single>("s", {"B", "N", "C"})
      .masked_by("token_pad_mask")
      .output("y", {"B", "N", "bins"})
      .masked_by("token_pad_mask")
      .size("bins", 6)
      .serial([](const Sizes& s) { return serial::BFactorModule(s["C"], s["bins"]); },
              [](auto& head, const Tensors& in) {
                return Tensors{{"y", head(in["s"])}};
              })
      .port([](const Sizes& s) { return trunk::BFactorModule(s["C"], s["bins"]); },
            [](auto& head, const ShardedTensors& in) {
              return ShardedTensors{{"y", head(in.get<Single>("s"))}};
            })
      .contraction({"C"})
      .cost_size({{"N", 96}, {"C", 128}, {"bins", 64}})
      .bound("sent_bytes.forward", [](const CostPoint&) { return 0.; })
      .bound("sent_bytes.backward", [](const CostPoint&) { return 0.; });
}

CPIZE_PARITY_MAIN(bfactor)
