// Parity of dropout: rows and columns of pairs, rows of the MSA, each from a stream of its own.
#include "trunk/dropout.hpp"

#include "parity/harness/block_parity.hpp"
#include "random/draw.hpp"
#include "serial/dropout.hpp"

using namespace cpize;
using namespace cpize::parity;

namespace {

const random::Stream root(5, "trunk", 3);

constexpr double kPairRate = 0.25, kMsaRate = 0.15;

BlockCase dropout() {
  return BlockCase("dropout")
      .input<Pair>("z", {"B", "N", "N", "C"})
      .masked_by("mask")
      .mask<Pair>("mask", {"B", "N", "N"})  // not read: says where the padding is
      .input<Msa>("m", {"B", "S", "N", "C"})
      .output("rows", {"B", "N", "N", "C"})
      .masked_by("mask")
      .output("columns", {"B", "N", "N", "C"})
      .masked_by("mask")
      .output("msa", {"B", "S", "N", "C"})
      .size("S", 23)
      .serial([](const Tensors& in) {
        const serial::Dropout layer = serial::Dropout(random::uniform_source(root, in["z"].device())).child("layers.0");
        return Tensors{{"rows", layer.rows(in["z"], kPairRate, "tri_att_start")},
                       {"columns", layer.columns(in["z"], kPairRate, "tri_att_end")},
                       {"msa", layer.child("msa").rows(in["m"], kMsaRate, "pair_weighted_averaging")}};
      })
      .port([](const ShardedTensors& in) {
        const trunk::Dropout layer = trunk::Dropout(root).child("layers.0");
        return ShardedTensors{{"rows", layer.rows(in.get<Pair>("z"), kPairRate, "tri_att_start")},
                              {"columns", layer.columns(in.get<Pair>("z"), kPairRate, "tri_att_end")},
                              {"msa", layer.child("msa").rows(in.get<Msa>("m"), kMsaRate, "pair_weighted_averaging")}};
      })
      .contraction({"1"})
      .cost_size({{"N", 96}, {"C", 32}, {"S", 64}})
      .bound("sent_bytes.forward", [](const CostPoint&) { return 0.; })
      .bound("sent_bytes.backward", [](const CostPoint&) { return 0.; })
      .bound("saved_bytes", [](const CostPoint& p) {  // the factors: rows of this rank, not pairs
        return 8. * 3 * static_cast<double>(p.sizes["N"] + p.sizes["S"]) + 4096;
      });
}

}  // namespace

CPIZE_PARITY_MAIN(dropout)
