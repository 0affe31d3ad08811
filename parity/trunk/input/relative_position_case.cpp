// Parity of the relative position encoding.
#include "trunk/relative_position.hpp"

#include "parity/harness/block_parity.hpp"
#include "parity/trunk/token_features.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase relative_position() {
  return with_position(BlockCase("relative_position").mask<Single>("token_pad_mask", {"B", "N"}))
      .output("p", {"B", "N", "N", "C"})
      .masked_by("token_pad_mask")
      .serial(
          [](const Sizes& s) {
            return serial::RelativePositionEncoder(serial::RelativePositionOptions{.token_z = s["C"]});
          },
          [](auto& block, const Tensors& in) {
            return Tensors{{"p", block(serial::RelativePositionFeatures::from(source_of(in)))}};
          })
      .port(
          [](const Sizes& s) {
            return trunk::RelativePositionEncoder(trunk::RelativePositionOptions{.token_z = s["C"]});
          },
          [](auto& block, const ShardedTensors& in) {
            return ShardedTensors{{"p", block(position_of(in))}};
          })
      .contraction({"4"})
      .cost_size({{"N", 144}, {"C", 64}})
      .bound("sent_bytes.forward", [](const CostPoint& p) { return token_bytes(p, 6 * 8 / p.element_bytes); })
      .bound("sent_bytes.backward", [](const CostPoint&) { return 0.; })
      .bound("peak_bytes.forward", [](const CostPoint& p) { return 2 * p.b(); })
      .bound("peak_bytes.step", [](const CostPoint& p) { return 2 * p.b(); });
}

CPIZE_PARITY_MAIN(relative_position)
