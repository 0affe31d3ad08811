// Parity of a stack of pairformer layers without a single track in training mode: with dropout, whose draws must be
// serial's.
#include "trunk/pairformer/pairformer_noseq_module.hpp"

#include "parity/harness/block_parity.hpp"
#include "parity/trunk/pairformer/pairformer_case.hpp"
#include "random/draw.hpp"

using namespace cpize;
using namespace cpize::parity;

static constexpr int kLayers = 2;

static BlockCase pairformer_noseq_stack() {
  const random::Stream root(11, "template_module", 2);
  return pair_track("pairformer_noseq_stack")
      .serial(
          [](const Sizes& s) {
            return serial::PairformerNoSeqModule(s["C"], kLayers, pairformer_options<serial::PairformerOptions>(s));
          },
          [root](auto& stack, const Tensors& in) {
            const serial::Dropout dropout(random::uniform_source(root, in["z"].device()));
            return Tensors{{"z_out", stack(in["z"], serial::pair_mask(in["mask"]), dropout.child("pairformer"))}};
          })
      .port(
          [](const Sizes& s) {
            return trunk::PairformerNoSeqModule(s["C"], kLayers, pairformer_options<trunk::PairformerOptions>(s));
          },
          [root](auto& stack, const ShardedTensors& in) {
            const trunk::Dropout dropout(root);
            return ShardedTensors{{"z_out", stack(in.get<Pair>("z"), trunk::pair_mask(in.get<Single>("mask")),
                                                  dropout.child("pairformer"))}};
          })
      .contraction(pairformer_sums(kLayers, false))
      .bound("sent_bytes.forward",
             [](const CostPoint& p) {
               return kLayers * dropped_width(p) * pair_track_forward_bytes(p) + pair_mask_bytes(p);
             })
      .bound("sent_bytes.backward",
             [](const CostPoint& p) { return kLayers * dropped_width(p) * pair_track_backward_bytes(p); })
      .bound("peak_bytes.forward", [](const CostPoint& p) { return dropped_width(p) * pair_track_forward_peak(p); })
      .bound("peak_bytes.step",
             [](const CostPoint& p) {
               return dropped_width(p) * ((kLayers - 1) * (pair_track_saved(p) + p.b()) + pair_track_step(p));
             })
      .bound("saved_bytes",
             [](const CostPoint& p) { return dropped_width(p) * (kLayers * (pair_track_saved(p) + p.b()) - p.b()); });
}

CPIZE_PARITY_MAIN(pairformer_noseq_stack)
