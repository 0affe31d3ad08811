// The MSA layer on a mesh: one round of exchange between the MSA and the pair representation.
//
//   m += pair_weighted_averaging(m, z);  m += msa_transition(m);  z += outer_product_mean(m);  z = pairformer_layer(z)
//
// (AlphaFold 3, Algorithm 8; Boltz-2, MSALayer.) m stays in layout Msa and z in layout Pair: between them move the
// logits of the averages and the operands of the products, nothing else. With an active Dropout the averages are
// dropped by rows of the MSA ([B,S,1,1], stream "pair_weighted_averaging"), the pair track below "pairformer_layer",
// with the bits of the serial layer's, on any mesh.
//
// Shapes: z [B,N,N,token_z], m [B,S,N,msa_s], pair_mask [B,N,N] (the outer product of a token mask), msa_mask [B,S,N]
// (1 valid, 0 padding; may vary by row and by token) -> z, m, in their dtypes (where dropout is active,
// promote_types(dtype, fp32)). Cost: that of the blocks; each sum is taken in the memory of its update.
#pragma once
#include <utility>

#include "trunk/dropout.hpp"
#include "trunk/msa/outer_product_mean.hpp"
#include "trunk/msa/pair_weighted_averaging.hpp"
#include "trunk/pairformer/pairformer_noseq_layer.hpp"
#include "trunk/transition.hpp"

namespace cpize::trunk {

struct MsaLayerOptions {
  std::int64_t msa_s = 64;
  std::int64_t token_z = 128;
  double msa_dropout = 0.15;  // rates, where an active Dropout is given
  double z_dropout = 0.25;
  std::int64_t pairwise_head_width = 32;  // of the triangle attentions
  std::int64_t pairwise_num_heads = 4;
  PairWeightedAveragingOptions pair_weighted_averaging = {};
  OuterProductMeanOptions outer_product_mean = {};
  TransitionOptions transition = {};  // of both tracks
  TriangleMultiplicationOptions triangle_multiplication = {};
  TriangleAttentionOptions triangle_attention = {};
};

/// Widths that the published layer fixes.
inline constexpr std::int64_t kAveragingHeads = 8, kAveragingHeadWidth = 32, kOuterProductHidden = 32;

/// Parameters, in order and named as in a checkpoint: msa_transition.* (hidden width 4 msa_s),
/// pair_weighted_averaging.*, pairformer_layer.*, outer_product_mean.*. Gradients are this rank's share:
/// reduce_gradients finishes them.
class MsaLayerImpl : public torch::nn::Module {
 public:
  explicit MsaLayerImpl(const MsaLayerOptions& options = {});

  /// Every rank of the mesh calls it.
  std::pair<Sharded<Pair>, Sharded<Msa>> forward(Sharded<Pair> z, Sharded<Msa> m, const Sharded<Pair>& pair_mask,
                                                 const Sharded<Msa>& msa_mask, const Dropout& dropout = {});

  const MsaLayerOptions options;
  Transition msa_transition;
  PairWeightedAveraging pair_weighted_averaging;
  PairformerNoSeqLayer pairformer_layer;
  OuterProductMean outer_product_mean;
};
TORCH_MODULE(MsaLayer);

}  // namespace cpize::trunk
