#include "serial/pair_slice.hpp"

#include <torch/nn/modules/container/modulelist.h>

#include <memory>

namespace cpize::serial {
namespace {

/// The container that gives the layer its published name: layers.0.
class PairTrackModule : public torch::nn::Module {
 public:
  explicit PairTrackModule(const PairTrackLayer& layer) {
    register_module("layers", torch::nn::ModuleList())->push_back(layer);
  }
};

}  // namespace

PairSliceFeatures PairSliceFeatures::from(const FeatureSource& features) {
  return {TokenInputFeatures::from(features), RelativePositionFeatures::from(features), features("token_bonds"),
          features("token_pad_mask")};
}

PairSliceFeatures zero_padding(const PairSliceFeatures& f) {
  return {zero_padding(f.input, f.token_pad_mask), zero_padding(f.position, f.token_pad_mask),
          zero_padding(f.token_bonds, pair_mask(f.token_pad_mask)), f.token_pad_mask};
}

PairTrackLayerImpl::PairTrackLayerImpl(int64_t token_z, int64_t transition_hidden)
    : tri_mul_out(register_module("tri_mul_out", TriangleMultiplication(token_z, TriangleDirection::outgoing))),
      tri_mul_in(register_module("tri_mul_in", TriangleMultiplication(token_z, TriangleDirection::incoming))),
      transition_z(register_module("transition_z", Transition(token_z, transition_hidden))) {}

PairSliceImpl::PairSliceImpl(const PairSliceOptions& options)
    : options(options),
      input_embedder(register_module("input_embedder", TokenInputEmbedder(options.token_s))),
      pair_init(options.token_s, options.rel_pos),
      layer(options.rel_pos.token_z, options.transition_factor * options.rel_pos.token_z),
      tri_mul_out(layer->tri_mul_out),
      tri_mul_in(layer->tri_mul_in),
      transition_z(layer->transition_z) {
  register_module("z_init_1", pair_init->z_init_1);
  register_module("z_init_2", pair_init->z_init_2);
  register_module("rel_pos", pair_init->rel_pos);
  register_module("token_bonds", pair_init->token_bonds);
  register_module("pairformer_module", std::make_shared<PairTrackModule>(layer));
}

at::Tensor PairSliceImpl::forward(const PairSliceFeatures& given) {
  const PairSliceFeatures features = zero_padding(given);
  const at::Tensor mask = pair_mask(features.token_pad_mask);
  const at::Tensor s_inputs = input_embedder(features.input);
  at::Tensor z = pair_init(s_inputs, features.position, features.token_bonds);
  z = z + tri_mul_out(z, mask);
  z = z + tri_mul_in(z, mask);
  return z + transition_z(z);
}

}  // namespace cpize::serial
