// Parity of pooled_head.
#include "ports/pooled_head.hpp"

#include "parity/harness/block_parity.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase pooled_head() {
  return BlockCase("pooled_head")
      .input<Pair>("x", {"B", "N", "N", "C"})
      .masked_by("present")
      .mask<Single>("present", {"B", "N"})
      .output("score", {"B", "1"})
      .serial([](const Sizes& s) { return model::PooledHead(s["C"]); },
              [](auto& block, const Tensors& in) {
                return Tensors{{"score", block(in["x"], in["present"])}};
              })
      .port([](const Sizes& s) { return contactnet::PooledHead(s["C"]); },
            [](auto& block, const ShardedTensors& in) {
              return ShardedTensors{{"score", block(in.get<Pair>("x"), in.get<Single>("present"))}};
            })
      .contraction({"C", "N", "N", "C", "C"})  // norm, rows and columns of the sum, fc1, fc2
      .cost_size({{"N", 48}, {"C", 32}});
}

CPIZE_PARITY_MAIN(pooled_head)
