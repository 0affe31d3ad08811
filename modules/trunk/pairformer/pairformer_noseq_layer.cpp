#include "trunk/pairformer/pairformer_noseq_layer.hpp"

#include "trunk/pairformer/pair_track.hpp"

namespace cpize::trunk {

PairformerNoSeqLayerImpl::PairformerNoSeqLayerImpl(std::int64_t token_z, const PairformerOptions& o)
    : options(o),
      tri_mul_out(register_module("tri_mul_out", TriMulOut(token_z, o.triangle_multiplication))),
      tri_mul_in(register_module("tri_mul_in", TriMulIn(token_z, o.triangle_multiplication))),
      tri_att_start(register_module(
          "tri_att_start", TriAttStart(token_z, o.pairwise_head_width, o.pairwise_num_heads, o.triangle_attention))),
      tri_att_end(register_module(
          "tri_att_end", TriAttEnd(token_z, o.pairwise_head_width, o.pairwise_num_heads, o.triangle_attention))),
      transition_z(register_module("transition_z", Transition(token_z, 4 * token_z, 0, o.transition))) {}

Sharded<Pair> PairformerNoSeqLayerImpl::forward(Sharded<Pair> z, const Sharded<Pair>& pair_mask,
                                                const Dropout& dropout) {
  return update_pairs(*this, std::move(z), pair_mask, dropout);
}

}  // namespace cpize::trunk
