#include "trunk/pair_slice.hpp"

#include <ATen/ATen.h>
#include <torch/nn/modules/container/modulelist.h>

#include <memory>

#include "layout/redistribute.hpp"

namespace cpize::trunk {
namespace {

/// The container that gives the layer its published name: layers.0.
class PairTrackModule : public torch::nn::Module {
 public:
  explicit PairTrackModule(const PairTrackLayer& layer) {
    register_module("layers", torch::nn::ModuleList())->push_back(layer);
  }
};

}  // namespace

PairSliceFeatures zero_padding(const PairSliceFeatures& f, const Sharded<Pair>& mask) {
  const auto clean = [&](const Sharded<Single>& x) { return zero_where(x, f.token_pad_mask); };
  const auto& p = f.position;
  return {{clean(f.input.res_type), clean(f.input.profile), clean(f.input.deletion_mean)},
          {clean(p.asym_id), clean(p.residue_index), clean(p.entity_id), clean(p.token_index), clean(p.sym_id),
           clean(p.cyclic_period)},
          zero_where(f.token_bonds, mask),
          f.token_pad_mask};
}

PairTrackLayerImpl::PairTrackLayerImpl(const PairSliceOptions& o)
    : tri_mul_out(register_module("tri_mul_out", TriMulOut(o.rel_pos.token_z, o.triangle))),
      tri_mul_in(register_module("tri_mul_in", TriMulIn(o.rel_pos.token_z, o.triangle))),
      transition_z(register_module(
          "transition_z", Transition(o.rel_pos.token_z, o.transition_factor * o.rel_pos.token_z, 0, o.transition))) {}

PairSliceImpl::PairSliceImpl(const PairSliceOptions& options)
    : options(options),
      input_embedder(register_module("input_embedder", TokenInputEmbedder(options.token_s))),
      pair_init(options.token_s, options.rel_pos),
      layer(options),
      tri_mul_out(layer->tri_mul_out),
      tri_mul_in(layer->tri_mul_in),
      transition_z(layer->transition_z) {
  register_module("z_init_1", pair_init->z_init_1);
  register_module("z_init_2", pair_init->z_init_2);
  register_module("rel_pos", pair_init->rel_pos);
  register_module("token_bonds", pair_init->token_bonds);
  register_module("pairformer_module", std::make_shared<PairTrackModule>(layer));
}

Sharded<Pair> PairSliceImpl::forward(const PairSliceFeatures& given) {
  const Sharded<Pair> mask = pair_mask(given.token_pad_mask);
  const PairSliceFeatures features = zero_padding(given, mask);
  Sharded<Pair> z = pair_init(input_embedder(features.input), features.position, features.token_bonds);
  z = add_to(z, tri_mul_out(z, mask));
  z = add_to(z, tri_mul_in(z, mask));
  return add_to(z, transition_z(z));
}

}  // namespace cpize::trunk
