#include "trunk/msa/msa_layer.hpp"

#include "trunk/padding.hpp"

namespace cpize::trunk {
namespace {

PairformerOptions pair_track(const MsaLayerOptions& o) {
  PairformerOptions options;
  options.dropout = o.z_dropout;
  options.pairwise_head_width = o.pairwise_head_width;
  options.pairwise_num_heads = o.pairwise_num_heads;
  options.triangle_multiplication = o.triangle_multiplication;
  options.triangle_attention = o.triangle_attention;
  options.transition = o.transition;
  return options;
}

}  // namespace

MsaLayerImpl::MsaLayerImpl(const MsaLayerOptions& o)
    : options(o),
      msa_transition(register_module("msa_transition", Transition(o.msa_s, 4 * o.msa_s, 0, o.transition))),
      pair_weighted_averaging(register_module(
          "pair_weighted_averaging",
          PairWeightedAveraging(o.msa_s, o.token_z, kAveragingHeadWidth, kAveragingHeads, o.pair_weighted_averaging))),
      pairformer_layer(register_module("pairformer_layer", PairformerNoSeqLayer(o.token_z, pair_track(o)))),
      outer_product_mean(register_module(
          "outer_product_mean", OuterProductMean(o.msa_s, kOuterProductHidden, o.token_z, o.outer_product_mean))) {}

std::pair<Sharded<Pair>, Sharded<Msa>> MsaLayerImpl::forward(Sharded<Pair> z, Sharded<Msa> m,
                                                             const Sharded<Pair>& pair_mask,
                                                             const Sharded<Msa>& msa_mask, const Dropout& dropout) {
  // dropout.rows gives the update itself or a new tensor: either way nothing else reads it, and add_to may take it.
  m = add_to(m, dropout.rows(pair_weighted_averaging(m, z, pair_mask), options.msa_dropout, "pair_weighted_averaging"));
  m = add_to(m, msa_transition(m));
  z = add_to(z, outer_product_mean(m, msa_mask));
  z = pairformer_layer(std::move(z), pair_mask, dropout.child("pairformer_layer"));
  return {std::move(z), std::move(m)};
}

}  // namespace cpize::trunk
