// The pair slice of the trunk: token embedding, pair initialisation, both triangle multiplications and a transition.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "serial/padding.hpp"
#include "serial/pair_initialisation.hpp"
#include "serial/token_input_embedder.hpp"
#include "serial/transition.hpp"
#include "serial/triangle_multiplication.hpp"

namespace cpize::serial {

struct PairSliceOptions {
  int64_t token_s = 384;
  RelativePositionOptions rel_pos;  // its token_z is the width of the pair representation
  int64_t transition_factor = 4;    // hidden width of the transition over token_z
};

/// token_bonds [B,N,N,1], token_pad_mask [B,N] (1 valid, 0 padding). Padding of the others may hold anything, NaN
/// included.
struct PairSliceFeatures {
  TokenInputFeatures input;
  RelativePositionFeatures position;
  at::Tensor token_bonds, token_pad_mask;

  static PairSliceFeatures from(const FeatureSource& features);
};

/// `features` with padding set to zero: what the steps below expect.
PairSliceFeatures zero_padding(const PairSliceFeatures& features);

/// The part of a pairformer layer that the slice contains; the published names of a layer without its attention.
class PairTrackLayerImpl : public torch::nn::Module {
 public:
  PairTrackLayerImpl(int64_t token_z, int64_t transition_hidden);

  TriangleMultiplication tri_mul_out;
  TriangleMultiplication tri_mul_in;
  Transition transition_z;
};
TORCH_MODULE(PairTrackLayer);

/// z = pair_init; z += tri_mul_out(z, m); z += tri_mul_in(z, m); z += transition_z(z), m the pair mask. Parameter names
/// and order are those of a Boltz-2 checkpoint's root: input_embedder.*, z_init_1, z_init_2, rel_pos.*, token_bonds,
/// pairformer_module.layers.0.*.
///
/// Each step is a public member, so that a factory can run the same composition with something around every step;
/// `forward` shows it.
class PairSliceImpl : public torch::nn::Module {
 public:
  explicit PairSliceImpl(const PairSliceOptions& options = {});

  /// -> z [B,N,N,token_z] in the dtype of the parameters.
  at::Tensor forward(const PairSliceFeatures& features);

  const PairSliceOptions options;
  TokenInputEmbedder input_embedder;
  PairInitialisation pair_init;  // its children are registered at the root, where a checkpoint has them
  PairTrackLayer layer;          // pairformer_module.layers.0
  TriangleMultiplication tri_mul_out;
  TriangleMultiplication tri_mul_in;
  Transition transition_z;
};
TORCH_MODULE(PairSlice);

}  // namespace cpize::serial
