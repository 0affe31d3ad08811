// Parity of a stack of pairformer layers as it is trained: dropout with serial's draws, layers checkpointed.
#include "trunk/pairformer/pairformer_module.hpp"

#include "parity/harness/block_parity.hpp"
#include "parity/trunk/pairformer/pairformer_case.hpp"
#include "random/draw.hpp"

using namespace cpize;
using namespace cpize::parity;

static constexpr int kLayers = 2;

static BlockCase pairformer_stack() {
  const random::Stream root(7, "pairformer_module", 1);
  return both_tracks("pairformer_stack")
      .serial(
          [](const Sizes& s) {
            return serial::PairformerModule(s["token_s"], s["C"], kLayers,
                                            pairformer_options<serial::PairformerOptions>(s));
          },
          [root](auto& stack, const Tensors& in) {
            const serial::Dropout dropout(random::uniform_source(root, in["z"].device()));
            const auto [s, z] = stack(in["s"], in["z"], in["mask"], serial::pair_mask(in["mask"]), dropout);
            return Tensors{{"s_out", s}, {"z_out", z}};
          })
      .port(
          [](const Sizes& s) {
            auto options = pairformer_options<trunk::PairformerOptions>(s);
            options.checkpoint = true;
            return trunk::PairformerModule(s["token_s"], s["C"], kLayers, options);
          },
          [root](auto& stack, const ShardedTensors& in) {
            const auto mask = in.get<Single>("mask");
            const auto [s, z] =
                stack(in.get<Single>("s"), in.get<Pair>("z"), mask, trunk::pair_mask(mask), trunk::Dropout(root));
            return ShardedTensors{{"s_out", s}, {"z_out", z}};
          })
      .contraction(pairformer_sums(kLayers, true))
      .zero_gradient({"layers.0.attention.proj_z.0.bias", "layers.1.attention.proj_z.0.bias"})
      .bound("sent_bytes.forward",
             [](const CostPoint& p) {
               return kLayers *
                          (dropped_width(p) * pair_track_forward_bytes(p) + attention_forward_bytes(single_track(p))) +
                      pair_mask_bytes(p);
             })
      .bound("sent_bytes.backward",  // the layers run again before their backward
             [](const CostPoint& p) {
               return kLayers *
                      (dropped_width(p) * pair_track_forward_bytes(p) + attention_forward_bytes(single_track(p)) +
                       dropped_width(p) * pair_track_backward_bytes(p) + attention_backward_bytes(single_track(p)));
             })
      .bound("peak_bytes.forward",
             [](const CostPoint& p) {
               return dropped_width(p) * pair_track_forward_peak(p) + attention_saved_bytes(single_track(p));
             })
      .bound("peak_bytes.step",  // inputs of the layers, and the result of the one that is run again
             [](const CostPoint& p) {
               return (kLayers + 1) * dropped_width(p) * p.b() + dropped_width(p) * pair_track_step(p) +
                      3 * attention_saved_bytes(single_track(p));
             })
      .bound("saved_bytes", [](const CostPoint& p) {
        return kLayers * (dropped_width(p) * p.b() + attention_saved_bytes(single_track(p)));
      });
}

CPIZE_PARITY_MAIN(pairformer_stack)
