// Parity of pair-weighted averaging.
#include "trunk/msa/pair_weighted_averaging.hpp"

#include "parity/harness/block_parity.hpp"
#include "parity/trunk/msa/msa_bytes.hpp"
#include "serial/pair_weighted_averaging.hpp"

using namespace cpize;
using namespace cpize::parity;

static double heads(const CostPoint& p) { return static_cast<double>(p.sizes["heads"]); }
/// The gradients of proj_m, proj_g and proj_o.
static double parameters(const CostPoint& p) {
  return 3 * std::max(p.element_bytes, 4.) * static_cast<double>(p.sizes["M"] * p.sizes["channels"]);
}

static BlockCase pair_weighted_averaging() {
  return BlockCase("pair_weighted_averaging")
      .input<Msa>("m", {"B", "S", "N", "M"})
      .input<Pair>("z", {"B", "N", "N", "C"})
      .masked_by("mask")
      .mask<Pair>("mask", {"B", "N", "N"})
      .mask<Msa>("msa_mask", {"B", "S", "N"})  // not read: tokens without a valid partner are padding
      .output("y", {"B", "S", "N", "M"})
      .masked_by("msa_mask")
      .size("1", 1)
      .size("S", 5)  // fewer than the ranks of the larger meshes
      .size("M", 10)
      .size("width", 4)
      .size("heads", 3)
      .size("channels", 12)
      .size("at_once", 2)  // a group of two heads and one of one, several panels of rows
      .size("panel", 8)
      .serial([](const Sizes& s) { return serial::PairWeightedAveraging(s["M"], s["C"], s["width"], s["heads"]); },
              [](auto& block, const Tensors& in) {
                return Tensors{{"y", block(in["m"], in["z"], in["mask"])}};
              })
      .port(
          [](const Sizes& s) {
            return trunk::PairWeightedAveraging(
                s["M"], s["C"], s["width"], s["heads"],
                trunk::PairWeightedAveragingOptions{.heads_at_once = s["at_once"], .panel_rows = s["panel"]});
          },
          [](auto& block, const ShardedTensors& in) {
            return ShardedTensors{{"y", block(in.get<Msa>("m"), in.get<Pair>("z"), in.get<Pair>("mask"))}};
          })
      .contraction({"C", "C", "N", "M", "M", "N", "channels"})
      .zero_gradient({"norm_z.bias"})  // shifts all logits of a head alike
      .precision_size({{"N", 37}, {"panel", 0}})
      .fused_size({{"N", 97},
                   {"S", 37},
                   {"M", 64},
                   {"C", 128},
                   {"width", 32},
                   {"heads", 8},
                   {"channels", 256},
                   {"at_once", 0},
                   {"panel", 0}})
      .cost_size({{"N", 72},
                  {"S", 36},
                  {"M", 64},
                  {"C", 128},
                  {"width", 32},
                  {"heads", 8},
                  {"channels", 256},
                  {"at_once", 0},
                  {"panel", 0}})
      .bound("sent_bytes.forward", [](const CostPoint& p) { return to_all(p, heads(p)) + partner_maxima(p); })
      .bound("sent_bytes.backward", [](const CostPoint& p) { return (1 + wide(p)) * to_all(p, heads(p)); })
      .bound("saved_bytes", [](const CostPoint& p) { return p.b("heads") + 4096; })
      .bound("peak_bytes.forward", [](const CostPoint& p) { return p.b() + msa_shard(p); })
      .bound("peak_bytes.step", [](const CostPoint& p) { return 2 * p.b() + 3 * msa_shard(p) + parameters(p); });
}

CPIZE_PARITY_MAIN(pair_weighted_averaging)
