#include "trunk/pairformer/pairformer_layer.hpp"

#include <ATen/ATen.h>

#include "trunk/pairformer/pair_track.hpp"
#include "trunk/precision.hpp"

namespace cpize::trunk {
namespace {

Sharded<Single> normalised(const Sharded<Single>& s, const Norm& norm) {
  return s.with(at::layer_norm(s.local(), {s.local().size(-1)}, norm->weight, norm->bias, kNormEpsilon));
}

}  // namespace

PairformerLayerImpl::PairformerLayerImpl(std::int64_t token_s, std::int64_t token_z, const PairformerOptions& o)
    : options(o),
      pre_norm_s(register_module("pre_norm_s", Norm(token_s))),
      attention(register_module("attention", AttentionPairBias(AttentionPairBiasOptions{
                                                 .c_s = token_s, .c_z = token_z, .num_heads = o.num_heads}))),
      tri_mul_out(register_module("tri_mul_out", TriMulOut(token_z, o.triangle_multiplication))),
      tri_mul_in(register_module("tri_mul_in", TriMulIn(token_z, o.triangle_multiplication))),
      tri_att_start(register_module(
          "tri_att_start", TriAttStart(token_z, o.pairwise_head_width, o.pairwise_num_heads, o.triangle_attention))),
      tri_att_end(register_module(
          "tri_att_end", TriAttEnd(token_z, o.pairwise_head_width, o.pairwise_num_heads, o.triangle_attention))),
      transition_s(register_module("transition_s", Transition(token_s, 4 * token_s, 0, o.transition))),
      transition_z(register_module("transition_z", Transition(token_z, 4 * token_z, 0, o.transition))) {
  if (o.post_layer_norm) s_post_norm = register_module("s_post_norm", Norm(token_s));
}

Sharded<Single> PairformerLayerImpl::update_tokens(const Sharded<Single>& given, const Sharded<Pair>& z,
                                                   const Sharded<Single>& mask) {
  const NoAutocast no_autocast(given.local());
  const at::Tensor& x = given.local();
  Sharded<Single> s = given.with(x.to(at::promote_types(x.scalar_type(), at::kFloat)));
  const Sharded<Single> normed = normalised(s, pre_norm_s);
  s = add_to(s, attention(normed, z, mask, normed));
  s = add_to(s, transition_s(s));
  return s_post_norm.is_empty() ? s : normalised(s, s_post_norm);
}

std::tuple<Sharded<Single>, Sharded<Pair>> PairformerLayerImpl::forward(const Sharded<Single>& s, Sharded<Pair> z,
                                                                        const Sharded<Single>& mask,
                                                                        const Sharded<Pair>& pair_mask,
                                                                        const Dropout& dropout) {
  z = update_pairs(*this, std::move(z), pair_mask, dropout);
  Sharded<Single> tokens = update_tokens(s, z, mask);
  return {std::move(tokens), std::move(z)};
}

}  // namespace cpize::trunk
