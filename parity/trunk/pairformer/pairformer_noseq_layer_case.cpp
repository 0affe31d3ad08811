// Parity of the pairformer layer without a single track.
#include "trunk/pairformer/pairformer_noseq_layer.hpp"

#include "parity/harness/block_parity.hpp"
#include "parity/trunk/pairformer/pairformer_case.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase pairformer_noseq_layer() {
  return pair_track("pairformer_noseq_layer")
      .serial(
          [](const Sizes& s) {
            return serial::PairformerNoSeqLayer(s["C"], pairformer_options<serial::PairformerOptions>(s));
          },
          [](auto& layer, const Tensors& in) {
            return Tensors{{"z_out", layer(in["z"], serial::pair_mask(in["mask"]))}};
          })
      .port(
          [](const Sizes& s) {
            return trunk::PairformerNoSeqLayer(s["C"], pairformer_options<trunk::PairformerOptions>(s));
          },
          [](auto& layer, const ShardedTensors& in) {
            return ShardedTensors{{"z_out", layer(in.get<Pair>("z"), trunk::pair_mask(in.get<Single>("mask")))}};
          })
      .contraction(pairformer_sums(1, false))
      .bound("sent_bytes.forward", [](const CostPoint& p) { return pair_track_forward_bytes(p) + pair_mask_bytes(p); })
      .bound("sent_bytes.backward", [](const CostPoint& p) { return pair_track_backward_bytes(p); })
      .bound("peak_bytes.forward", pair_track_forward_peak)
      .bound("peak_bytes.step", pair_track_step)
      .bound("saved_bytes", pair_track_saved);
}

CPIZE_PARITY_MAIN(pairformer_noseq_layer)
