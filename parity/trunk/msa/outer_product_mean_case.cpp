// Parity of the outer product mean: masks that vary by row and by token, rows that are masked as a whole.
#include "trunk/msa/outer_product_mean.hpp"

#include <algorithm>

#include "parity/harness/block_parity.hpp"
#include "serial/outer_product_mean.hpp"

using namespace cpize;
using namespace cpize::parity;

/// u(channels) = B S N channels / Q elements, in bytes: that many channels of an MSA shard.
static double u(const CostPoint& p, double channels) {
  return p.b("1") / static_cast<double>(p.sizes["N"]) * static_cast<double>(p.sizes["S"]) * channels;
}
/// Of an element of counts and masks, in elements of an activation.
static double wide(const CostPoint& p) { return std::max(1., 4 / p.element_bytes); }
static double lines(const CostPoint& p) { return p.mesh.extent(Axis::cp0) + p.mesh.extent(Axis::cp1); }
static double hidden(const CostPoint& p) { return static_cast<double>(p.sizes["H"]); }
/// Bytes of `channels` of the MSA to the tokens of each rank, or back.
static double exchanged(const CostPoint& p, double channels) { return u(p, channels) * lines(p) * (p.q() - 1) / p.q(); }
/// The h h channels of a 16th of the pairs: a tile is a 32nd, but not so small that calls cost more than the work.
static double tile(const CostPoint& p) { return p.b("HH") / 16; }
/// The gradient of proj_o.
static double parameters(const CostPoint& p) {
  return std::max(p.element_bytes, 4.) * static_cast<double>(p.sizes["C"] * p.sizes["HH"]);
}

static BlockCase outer_product_mean() {
  return BlockCase("outer_product_mean")
      .input<Msa>("m", {"B", "S", "N", "M"})
      .masked_by("msa_mask")
      .mask<Msa>("msa_mask", {"B", "S", "N"})
      .mask<Msa>("row_mask", {"B", "S"})
      .output("z", {"B", "N", "N", "C"})
      .size("S", 5)  // fewer than the ranks of the larger meshes
      .size("M", 10)
      .size("H", 6)
      .size("HH", 36)
      .size("1", 1)
      .size("panel", 8)  // several panels and tiles even here
      .serial([](const Sizes& s) { return serial::OuterProductMean(s["M"], s["H"], s["C"]); },
              [](auto& block, const Tensors& in) {
                return Tensors{{"z", block(in["m"], in["msa_mask"] * in["row_mask"].unsqueeze(2))}};
              })
      .port(
          [](const Sizes& s) {
            return trunk::OuterProductMean(
                s["M"], s["H"], s["C"],
                trunk::OuterProductMeanOptions{.tile_pairs = s["panel"], .panel_rows = s["panel"]});
          },
          [](auto& block, const ShardedTensors& in) {
            const auto mask = in.get<Msa>("msa_mask"), rows = in.get<Msa>("row_mask");
            return ShardedTensors{{"z", block(in.get<Msa>("m"), mask.with(mask.local() * rows.local().unsqueeze(2)))}};
          })
      .contraction({"M", "M", "S", "HH"})
      .precision_size({{"N", 37}, {"panel", 0}})
      .fused_size({{"N", 97}, {"S", 37}, {"M", 64}, {"H", 32}, {"HH", 1024}, {"C", 128}, {"panel", 0}})
      .cost_size({{"N", 72}, {"S", 72}, {"M", 64}, {"H", 32}, {"HH", 1024}, {"C", 128}, {"panel", 0}})
      .bound("sent_bytes.forward", [](const CostPoint& p) { return exchanged(p, hidden(p) + 1); })
      .bound("sent_bytes.backward", [](const CostPoint& p) { return exchanged(p, hidden(p)); })
      .bound("saved_bytes",  // operands and counts, and the mask that this case makes
             [](const CostPoint& p) { return u(p, hidden(p)) * lines(p) + wide(p) * (p.b("1") + u(p, 1)) + 4096; })
      .bound("peak_bytes.forward", [](const CostPoint& p) { return p.b() + 2 * u(p, hidden(p)) * lines(p) + tile(p); })
      .bound("peak_bytes.step", [](const CostPoint& p) {
        return p.b() + u(p, static_cast<double>(p.sizes["M"])) + 3 * u(p, hidden(p)) * lines(p) + 2 * tile(p) +
               parameters(p);
      });
}

CPIZE_PARITY_MAIN(outer_product_mean)
