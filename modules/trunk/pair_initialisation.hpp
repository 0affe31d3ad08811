// Pair initialisation on a mesh: the first pair representation, from the tokens' embeddings, their relative positions
// and their bonds.
//
//   z[i,j] = z_init_1(s_inputs)[i] + z_init_2(s_inputs)[j] + rel_pos[i,j] + token_bonds(bond[i,j])
//
// Source: Boltz-2's root module (Algorithm 1 of AlphaFold 3, lines 2 to 5).
//
// Shapes: s_inputs Single [B,N,token_s], bonds Pair [B,N,N,1] (any dtype) -> z Pair [B,N,N,token_z] in the dtype of
// s_inputs (under autocast: of autocast). The tokens are projected where they are; what travels is the result. Cost per
// rank, Q = cp0 * cp1, T = B N token_z / Q elements (one shard of projected tokens), b = one shard of z:
//   forward sends    T (cp1 - 1 + cp0), the other ranks of a token's row and all of its column (cp0 - 1 where the
//   sender
//                    is one of them), and 48 bytes an id row the same way; four all-to-alls
//   backward sends   as many projected tokens: each rank's partial sums to their owner
//   saved            s_inputs, ids and bonds: O(N) and 1 channel of a pair; z itself is not needed
//   peak             1 b and a panel of rows in forward; backward adds the token sums and the weight gradients
// The output gradient of a replicated token operand is a partial sum, which the adjoint of `redistribute` adds up.
// The assembly's backward is hand-written and has no backward of its own (NotImplemented); the integer features and the
// bonds have no gradient.
#pragma once
#include "trunk/relative_position.hpp"

namespace cpize::trunk {

/// Parameters, in order: z_init_1.weight, z_init_2.weight [token_z, token_s], rel_pos.linear_layer.weight,
/// token_bonds.weight [token_z, 1]. Gradients are this rank's share: reduce_gradients finishes them.
class PairInitialisationImpl : public torch::nn::Module {
 public:
  /// The width of the pair representation is `rel_pos.token_z`.
  PairInitialisationImpl(std::int64_t token_s, const RelativePositionOptions& rel_pos);

  /// Every rank of the mesh calls it. ContractError where the shapes do not belong together.
  Sharded<Pair> forward(const Sharded<Single>& s_inputs, const RelativePositionFeatures& position,
                        const Sharded<Pair>& bonds);

  Projection z_init_1;
  Projection z_init_2;
  RelativePositionEncoder rel_pos;
  Projection token_bonds;
};
TORCH_MODULE(PairInitialisation);

}  // namespace cpize::trunk
