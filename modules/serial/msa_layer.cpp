#include "serial/msa_layer.hpp"

#include <ATen/Functions.h>

namespace cpize::serial {
namespace {

PairformerOptions pair_track(const MsaLayerOptions& o) {
  return {.dropout = o.z_dropout,
          .pairwise_head_width = o.pairwise_head_width,
          .pairwise_num_heads = o.pairwise_num_heads,
          .triangle_chunk_rows = o.triangle_chunk_rows};
}

}  // namespace

MsaLayerImpl::MsaLayerImpl(const MsaLayerOptions& o)
    : options(o),
      msa_transition(register_module("msa_transition", Transition(o.msa_s, 4 * o.msa_s))),
      pair_weighted_averaging(register_module(
          "pair_weighted_averaging", PairWeightedAveraging(o.msa_s, o.token_z, kAveragingHeadWidth, kAveragingHeads))),
      pairformer_layer(register_module("pairformer_layer", PairformerNoSeqLayer(o.token_z, pair_track(o)))),
      outer_product_mean(
          register_module("outer_product_mean", OuterProductMean(o.msa_s, kOuterProductHidden, o.token_z))) {}

std::tuple<at::Tensor, at::Tensor> MsaLayerImpl::forward(at::Tensor z, at::Tensor m, const at::Tensor& pair_mask,
                                                         const at::Tensor& msa_mask, const Dropout& dropout) {
  m = m + dropout.rows(pair_weighted_averaging(m, z, pair_mask, options.chunk_heads), options.msa_dropout,
                       "pair_weighted_averaging");
  m = m + msa_transition(m, options.transition_chunk);
  z = z + outer_product_mean(m, msa_mask, options.outer_product_chunk);
  return {pairformer_layer(z, pair_mask, dropout.child("pairformer_layer")), m};
}

}  // namespace cpize::serial
