#include "parity/harness/tests/toy_case.hpp"

namespace cpize::parity {

BlockCase toy_case(Mutant mutant) {
  return BlockCase("toy")
      .input<Pair>("z", {"B", "N", "N", "C"})
      .masked_by("mask")
      .input<SingleRow>("s", {"B", "N", "C"})
      .mask<Pair>("mask", {"B", "N", "N"})
      .output("z", {"B", "N", "N", "C"})
      .masked_by("mask")
      .output("t", {"B", "N", "C"})
      .serial([](const Sizes& s) { return ToySerial(s["C"]); },
              [](auto& block, const Tensors& in) {
                const auto [z, t] = block(in["z"], in["s"], in["mask"]);
                return Tensors{{"z", z}, {"t", t}};
              })
      .port([mutant](const Sizes& s) { return ToyPort(s["C"], mutant); },
            [](auto& block, const ShardedTensors& in) {
              const auto [z, t] = block(in.get<Pair>("z"), in.get<SingleRow>("s"), in.get<Pair>("mask"));
              return ShardedTensors{{"z", z}, {"t", t}};
            })
      .contraction({"N", "C", "C"})
      .cost_size({{"N", 24}, {"C", 32}})
      .bound("sent_bytes.forward", [](const CostPoint& at) { return 3.5 * at.b(); })
      .bound("peak_bytes.step", [](const CostPoint& at) { return 13 * at.b(); });
}

}  // namespace cpize::parity
