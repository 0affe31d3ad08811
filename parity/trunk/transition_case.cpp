// Parity of the transition, on pairs.
#include "trunk/transition.hpp"

#include "parity/harness/block_parity.hpp"
#include "serial/transition.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase transition() {
  return BlockCase("transition")
      .input<Pair>("z", {"B", "N", "N", "C"})
      .masked_by("mask")
      .mask<Pair>("mask", {"B", "N", "N"})  // not read: says where the padding is
      .output("y", {"B", "N", "N", "C"})
      .masked_by("mask")
      .serial([](const Sizes& s) { return serial::Transition(s["C"], 4 * s["C"]); },
              [](auto& block, const Tensors& in) {
                return Tensors{{"y", block(in["z"])}};
              })
      .port([](const Sizes& s) { return trunk::Transition(s["C"], 4 * s["C"]); },
            [](auto& block, const ShardedTensors& in) {
              return ShardedTensors{{"y", block(in.get<Pair>("z"))}};
            })
      .contraction({"C", "C", "C", "C", "C", "C"})  // the norm, fc1 and fc2, and the 4 C of fc3
      .cost_size({{"N", 128}, {"C", 64}})
      .bound("sent_bytes.forward", [](const CostPoint&) { return 0.; })
      .bound("sent_bytes.backward", [](const CostPoint&) { return 0.; })
      .bound("peak_bytes.forward", [](const CostPoint& p) { return 2 * p.b(); })
      .bound("peak_bytes.step", [](const CostPoint& p) { return 4 * p.b(); })
      .bound("saved_bytes", [](const CostPoint&) { return 4096.; });
}

CPIZE_PARITY_MAIN(transition)
