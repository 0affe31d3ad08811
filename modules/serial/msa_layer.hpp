// The MSA layer: one round of exchange between the MSA and the pair representation.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <tuple>

#include "serial/dropout.hpp"
#include "serial/outer_product_mean.hpp"
#include "serial/pair_weighted_averaging.hpp"
#include "serial/pairformer.hpp"
#include "serial/transition.hpp"

namespace cpize::serial {

struct MsaLayerOptions {
  int64_t msa_s = 64;
  int64_t token_z = 128;
  double msa_dropout = 0.15;  // rates, where a Dropout is given
  double z_dropout = 0.25;
  int64_t pairwise_head_width = 32;  // of the triangle attentions
  int64_t pairwise_num_heads = 4;

  // Memory only: the same values up to rounding (the blocks' headers).
  bool chunk_heads = false;
  int64_t transition_chunk = 0, outer_product_chunk = 0, triangle_chunk_rows = 0;
};

/// Widths that the published layer fixes.
inline constexpr int64_t kAveragingHeads = 8, kAveragingHeadWidth = 32, kOuterProductHidden = 32;

/// m += pair_weighted_averaging(m, z); m += msa_transition(m); z += outer_product_mean(m); z = pairformer_layer(z).
/// Dropout: one draw a row of the MSA for the averages, stream "pair_weighted_averaging"; the pair track's below
/// "pairformer_layer". Parameters in order: msa_transition, pair_weighted_averaging, pairformer_layer,
/// outer_product_mean.
class MsaLayerImpl : public torch::nn::Module {
 public:
  explicit MsaLayerImpl(const MsaLayerOptions& options = {});

  /// z [B,N,N,token_z], m [B,S,N,msa_s], pair_mask [B,N,N], msa_mask [B,S,N] (1 valid, 0 padding) -> z, m.
  std::tuple<at::Tensor, at::Tensor> forward(at::Tensor z, at::Tensor m, const at::Tensor& pair_mask,
                                             const at::Tensor& msa_mask, const Dropout& dropout = {});

  const MsaLayerOptions options;
  Transition msa_transition;
  PairWeightedAveraging pair_weighted_averaging;
  PairformerNoSeqLayer pairformer_layer;
  OuterProductMean outer_product_mean;
};
TORCH_MODULE(MsaLayer);

}  // namespace cpize::serial
