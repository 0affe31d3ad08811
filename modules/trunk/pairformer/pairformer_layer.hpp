// The pairformer layer on a mesh: the pair track, then the single track with the new pair representation.
//
//   z as in pairformer_noseq_layer.hpp;  s += attention(pre_norm_s(s), z);  s += transition_s(s)
//   s = s_post_norm(s) if post_layer_norm
//
// (AlphaFold 3, Algorithm 17; Boltz-2, PairformerLayer of version 2.) The single track runs in promote_types(dtype,
// fp32) and outside autocast, as published; z enters its attention in its own dtype and is converted by panels.
// Shapes: s [B,N,token_s], z [B,N,N,token_z], mask [B,N], pair_mask [B,N,N] (the mask's outer product) -> s in
// promote_types(dtype of s, fp32), z. Cost: that of the blocks.
#pragma once
#include <tuple>

#include "trunk/pairformer/attention_pair_bias.hpp"
#include "trunk/pairformer/pairformer_noseq_layer.hpp"

namespace cpize::trunk {

/// Parameters, in order and named as in a checkpoint: pre_norm_s.*, attention.*, tri_mul_out.*, tri_mul_in.*,
/// tri_att_start.*, tri_att_end.*, transition_s.*, transition_z.*, s_post_norm.* (only with post_layer_norm). Gradients
/// are this rank's share: reduce_gradients finishes them.
class PairformerLayerImpl : public torch::nn::Module {
 public:
  PairformerLayerImpl(std::int64_t token_s, std::int64_t token_z, const PairformerOptions& options = {});

  /// Every rank of the mesh calls it. Streams of dropout: the path, a dot and the block's name.
  std::tuple<Sharded<Single>, Sharded<Pair>> forward(const Sharded<Single>& s, Sharded<Pair> z,
                                                     const Sharded<Single>& mask, const Sharded<Pair>& pair_mask,
                                                     const Dropout& dropout = {});

  const PairformerOptions options;
  Norm pre_norm_s;
  AttentionPairBias attention;
  TriMulOut tri_mul_out;
  TriMulIn tri_mul_in;
  TriAttStart tri_att_start;
  TriAttEnd tri_att_end;
  Transition transition_s;
  Transition transition_z;
  Norm s_post_norm{nullptr};

 private:
  Sharded<Single> update_tokens(const Sharded<Single>& s, const Sharded<Pair>& z, const Sharded<Single>& mask);
};
TORCH_MODULE(PairformerLayer);

}  // namespace cpize::trunk
