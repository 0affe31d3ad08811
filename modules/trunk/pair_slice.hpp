// The pair slice of the trunk on a mesh: token embedding, pair initialisation, both triangle multiplications, a
// transition.
//
//   s_inputs = input_embedder(features);  z = pair_init(s_inputs, ...)
//   z = z + tri_mul_out(z, m);  z = z + tri_mul_in(z, m);  z = z + transition_z(z)          m the pair mask
//
// Features arrive as shards: token features in layout Single, token_bonds in layout Pair. Padding may hold anything,
// NaN included: the entry replaces it with zero by `where`, in the shards, so that no result depends on it.
// -> z, layout Pair, [B,N,N,token_z] in the dtype of the parameters.
// Cost: that of the parts; the entry adds two all-to-alls of the token mask (its elements once to each rank of a line).
// Residual sums are taken in place of the update, so that z exists at most twice beside what a block holds.
#pragma once
#include "trunk/padding.hpp"
#include "trunk/pair_initialisation.hpp"
#include "trunk/token_input_embedder.hpp"
#include "trunk/transition.hpp"
#include "trunk/tri_mul_in.hpp"
#include "trunk/tri_mul_out.hpp"

namespace cpize::trunk {

struct PairSliceOptions {
  std::int64_t token_s = 384;
  RelativePositionOptions rel_pos = {};  // its token_z is the width of the pair representation
  std::int64_t transition_factor = 4;    // hidden width of the transition over token_z
  TriangleMultiplicationOptions triangle = {};
  TransitionOptions transition = {};
};

/// token_bonds [B,N,N,1], token_pad_mask [B,N] (1 valid, 0 padding).
struct PairSliceFeatures {
  TokenInputFeatures input;
  RelativePositionFeatures position;
  Sharded<Pair> token_bonds;
  Sharded<Single> token_pad_mask;
};

/// `features` with padding set to zero; `mask` is their pair mask.
PairSliceFeatures zero_padding(const PairSliceFeatures& features, const Sharded<Pair>& mask);

/// The part of a pairformer layer that the slice contains; the published names of a layer without its attention.
class PairTrackLayerImpl : public torch::nn::Module {
 public:
  explicit PairTrackLayerImpl(const PairSliceOptions& options);

  TriMulOut tri_mul_out;
  TriMulIn tri_mul_in;
  Transition transition_z;
};
TORCH_MODULE(PairTrackLayer);

/// Parameter names and order are those of a Boltz-2 checkpoint's root: input_embedder.*, z_init_1, z_init_2, rel_pos.*,
/// token_bonds, pairformer_module.layers.0.*. Each step is a public member, so that a factory can run the same
/// composition with something around every step; `forward` shows it.
class PairSliceImpl : public torch::nn::Module {
 public:
  explicit PairSliceImpl(const PairSliceOptions& options = {});

  /// Every rank of the mesh calls it.
  Sharded<Pair> forward(const PairSliceFeatures& features);

  const PairSliceOptions options;
  TokenInputEmbedder input_embedder;
  PairInitialisation pair_init;  // its children are registered at the root, where a checkpoint has them
  PairTrackLayer layer;          // pairformer_module.layers.0
  TriMulOut tri_mul_out;
  TriMulIn tri_mul_in;
  Transition transition_z;
};
TORCH_MODULE(PairSlice);

}  // namespace cpize::trunk
