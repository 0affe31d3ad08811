// Parity of the outer product mean: masks that vary by row and by token, rows that are masked as a whole.
#include "trunk/msa/outer_product_mean.hpp"

#include "parity/harness/block_parity.hpp"
#include "parity/trunk/msa/msa_bytes.hpp"
#include "serial/outer_product_mean.hpp"

using namespace cpize;
using namespace cpize::parity;

static double hidden(const CostPoint& p) { return static_cast<double>(p.sizes["H"]); }
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
      .bound("sent_bytes.forward", [](const CostPoint& p) { return to_tokens(p, hidden(p) + 1); })
      .bound("sent_bytes.backward", [](const CostPoint& p) { return to_tokens(p, hidden(p)); })
      .bound("saved_bytes",  // operands and counts, and the mask that this case makes
             [](const CostPoint& p) {
               return msa_bytes(p, hidden(p)) * lines(p) + wide(p) * (p.b("1") + msa_bytes(p, 1)) + 4096;
             })
      .bound("peak_bytes.forward",
             [](const CostPoint& p) { return p.b() + 2 * msa_bytes(p, hidden(p)) * lines(p) + tile(p); })
      .bound("peak_bytes.step", [](const CostPoint& p) {
        return p.b() + msa_shard(p) + 3 * msa_bytes(p, hidden(p)) * lines(p) + 2 * tile(p) + parameters(p);
      });
}

CPIZE_PARITY_MAIN(outer_product_mean)
