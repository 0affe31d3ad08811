// Parity of row_attention.
#include "ports/row_attention.hpp"

#include "parity/harness/block_parity.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase row_attention() {
  return BlockCase("row_attention")
      .input<Pair>("x", {"B", "N", "N", "C"})
      .masked_by("present")
      .mask<Single>("present", {"B", "N"})
      .output("y", {"B", "N", "N", "C"})
      .masked_by("present")
      .serial([](const Sizes& s) { return model::AxialAttention(s["C"], 2, 3); },
              [](auto& block, const Tensors& in) {
                return Tensors{{"y", block(in["x"], in["present"])}};
              })
      .port([](const Sizes& s) { return contactnet::RowAttention(s["C"], 2, 3); },
            [](auto& block, const ShardedTensors& in) {
              return ShardedTensors{{"y", block(in.get<Pair>("x"), in.get<Single>("present"))}};
            })
      .contraction({"C", "C", "C", "N", "C"})  // norm, query and key, logits, softmax and values, out
      .cost_size({{"N", 48}, {"C", 32}})
      .bound("sent_bytes.forward", [](const CostPoint& p) { return 2 * p.b() + 4096; });
}

CPIZE_PARITY_MAIN(row_attention)
