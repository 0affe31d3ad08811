// Parity of pair initialisation: outer sum, relative position and bonds.
#include "trunk/pair_initialisation.hpp"

#include "parity/harness/block_parity.hpp"
#include "parity/trunk/slice_features.hpp"
#include "serial/pair_initialisation.hpp"

using namespace cpize;
using namespace cpize::parity;

/// Bytes of `channels` a token, to the ranks that need it: the other cp1 - 1 of its row, and the cp0 of a column. A
/// rank that holds tokens of its own column saves itself one; on a true grid the others hold none of theirs.
static double token_bytes(const CostPoint& p, double channels) {
  const int rows = p.mesh.extent(Axis::cp0), columns = p.mesh.extent(Axis::cp1);
  const double tokens = static_cast<double>(p.sizes["N"]) / p.q();
  return p.element_bytes * tokens * channels * (columns - 1 + (columns > 1 && rows > 1 ? rows : rows - 1));
}

static BlockCase pair_initialisation() {
  return with_bonds(
             with_position(BlockCase("pair_initialisation")
                               .mask<Single>("token_pad_mask", {"B", "N"})  // not read: says where the padding is
                               .input<Single>("s_inputs", {"B", "N", "token_s"})
                               .masked_by("token_pad_mask")))
      .output("z", {"B", "N", "N", "C"})
      .masked_by("token_pad_mask")
      .size("token_s", 12)
      .serial(
          [](const Sizes& s) {
            return serial::PairInitialisation(s["token_s"], serial::RelativePositionOptions{.token_z = s["C"]});
          },
          [](auto& block, const Tensors& in) {
            const auto position = serial::RelativePositionFeatures::from(source_of(in));
            return Tensors{{"z", block(in["s_inputs"], position, in["token_bonds"])}};
          })
      .port(
          [](const Sizes& s) {
            return trunk::PairInitialisation(s["token_s"], trunk::RelativePositionOptions{.token_z = s["C"]});
          },
          [](auto& block, const ShardedTensors& in) {
            return ShardedTensors{
                {"z", block(in.get<Single>("s_inputs"), position_of(in), in.get<Pair>("token_bonds"))}};
          })
      .contraction({"token_s", "token_s", "N", "6"})
      .cost_size({{"N", 144}, {"C", 64}, {"token_s", 32}})
      .bound("sent_bytes.forward",
             // the six ids take 8 bytes each, whatever the dtype of activations
             [](const CostPoint& p) {
               return token_bytes(p, static_cast<double>(p.sizes["C"]) + 6 * 8 / p.element_bytes);
             })
      .bound("sent_bytes.backward",
             [](const CostPoint& p) { return token_bytes(p, static_cast<double>(p.sizes["C"])); })
      .bound("peak_bytes.forward", [](const CostPoint& p) { return 2 * p.b(); })
      .bound("peak_bytes.step", [](const CostPoint& p) { return 3 * p.b(); });
}

CPIZE_PARITY_MAIN(pair_initialisation)
