// The pairformer layer without a single track, on a mesh: the pair representation updated by triangles.
//
//   z += tri_mul_out(z); z += tri_mul_in(z); z += tri_att_start(z); z += tri_att_end(z); z += transition_z(z)
//
// (AlphaFold 3, Algorithm 17; Boltz-2, PairformerNoSeqLayer.) With an active Dropout the first three updates are
// dropped by rows, tri_att_end by columns, with the bits of the serial layer's, on any mesh.
// Shapes: z [B,N,N,C], pair_mask [B,N,N] (the outer product of a token mask) -> z, in the dtype of z (where dropout is
// active, promote_types(dtype, fp32)). Cost: that of the blocks; between them only z exists. Each sum is taken in the
// memory of its update; dropout keeps its factors (B N elements) for backward.
#pragma once
#include "trunk/dropout.hpp"
#include "trunk/pairformer/pairformer_options.hpp"
#include "trunk/tri_mul_in.hpp"
#include "trunk/tri_mul_out.hpp"
#include "trunk/triangle_attention/tri_att_end.hpp"
#include "trunk/triangle_attention/tri_att_start.hpp"

namespace cpize::trunk {

/// Parameters, in order and named as in a checkpoint: tri_mul_out.*, tri_mul_in.*, tri_att_start.*, tri_att_end.*,
/// transition_z.* (hidden width 4 token_z). Gradients are this rank's share: reduce_gradients finishes them.
class PairformerNoSeqLayerImpl : public torch::nn::Module {
 public:
  PairformerNoSeqLayerImpl(std::int64_t token_z, const PairformerOptions& options = {});

  /// Every rank of the mesh calls it. Streams of dropout: the path, a dot and the block's name.
  Sharded<Pair> forward(Sharded<Pair> z, const Sharded<Pair>& pair_mask, const Dropout& dropout = {});

  const PairformerOptions options;
  TriMulOut tri_mul_out;
  TriMulIn tri_mul_in;
  TriAttStart tri_att_start;
  TriAttEnd tri_att_end;
  Transition transition_z;
};
TORCH_MODULE(PairformerNoSeqLayer);

}  // namespace cpize::trunk
