// Parity of the pairformer layer, with the norm behind the single track.
#include "trunk/pairformer/pairformer_layer.hpp"

#include "parity/harness/block_parity.hpp"
#include "parity/trunk/pairformer/pairformer_case.hpp"

using namespace cpize;
using namespace cpize::parity;

template <class Options>
static Options with_norm(const Sizes& s) {
  Options options = pairformer_options<Options>(s);
  options.post_layer_norm = true;
  return options;
}

static BlockCase pairformer_layer() {
  return both_tracks("pairformer_layer")
      .serial(
          [](const Sizes& s) {
            return serial::PairformerLayer(s["token_s"], s["C"], with_norm<serial::PairformerOptions>(s));
          },
          [](auto& layer, const Tensors& in) {
            const auto [s, z] = layer(in["s"], in["z"], in["mask"], serial::pair_mask(in["mask"]));
            return Tensors{{"s_out", s}, {"z_out", z}};
          })
      .port(
          [](const Sizes& s) {
            return trunk::PairformerLayer(s["token_s"], s["C"], with_norm<trunk::PairformerOptions>(s));
          },
          [](auto& layer, const ShardedTensors& in) {
            const auto mask = in.get<Single>("mask");
            const auto [s, z] = layer(in.get<Single>("s"), in.get<Pair>("z"), mask, trunk::pair_mask(mask));
            return ShardedTensors{{"s_out", s}, {"z_out", z}};
          })
      .contraction(pairformer_sums(1, true))
      .zero_gradient({"attention.proj_z.0.bias"})
      .bound("sent_bytes.forward",
             [](const CostPoint& p) {
               return pair_track_forward_bytes(p) + attention_forward_bytes(single_track(p)) + pair_mask_bytes(p);
             })
      .bound(
          "sent_bytes.backward",
          [](const CostPoint& p) { return pair_track_backward_bytes(p) + attention_backward_bytes(single_track(p)); })
      .bound("peak_bytes.forward",
             [](const CostPoint& p) { return pair_track_forward_peak(p) + attention_saved_bytes(single_track(p)); })
      .bound("peak_bytes.step",
             [](const CostPoint& p) { return pair_track_step(p) + 3 * attention_saved_bytes(single_track(p)); })
      .bound("saved_bytes",
             [](const CostPoint& p) { return pair_track_saved(p) + 2 * attention_saved_bytes(single_track(p)); });
}

CPIZE_PARITY_MAIN(pairformer_layer)
