// Pair initialisation on a mesh: the first pair representation, from the tokens' embeddings, their relative positions,
// their bonds and the contacts asked for.
//
//   z[i,j] = z_init_1(s_inputs)[i] + z_init_2(s_inputs)[j] + rel_pos[i,j] + token_bonds(bond[i,j])
//            + token_bonds_type[type[i,j]] + contact_conditioning[i,j]
//
// The last two where the options ask for them. All terms are added up in z, a panel of rows at a time
// (pair_assembly.hpp): none of them makes a pass of its own over z.
// Source: Boltz-2's root module (Algorithm 1 of AlphaFold 3, lines 2 to 5).
//
// Shapes: s_inputs Single [B,N,token_s], bonds Pair [B,N,N,1] (any dtype), type_bonds Pair [B,N,N] integer, contacts as
// in contact_conditioning.hpp -> z Pair [B,N,N,token_z] in the dtype of
// s_inputs (under autocast: of autocast). The tokens are projected where they are; what travels is the result. Cost per
// rank, Q = cp0 * cp1, T = B N token_z / Q elements (one shard of projected tokens), b = one shard of z:
//   forward sends    T (cp1 - 1 + cp0), the other ranks of a token's row and all of its column (cp0 - 1 where the
//   sender
//                    is one of them), and 48 bytes an id row the same way; four all-to-alls
//   backward sends   as many projected tokens: each rank's partial sums to their owner
//   saved            s_inputs, ids and pair features: O(N) and 1 to 8 channels of a pair; z itself is not needed
//   peak             1 b and a panel of rows in forward; backward adds the token sums and the weight gradients
// The output gradient of a replicated token operand is a partial sum, which the adjoint of `redistribute` adds up.
// The assembly's backward is hand-written and has no backward of its own (NotImplemented); of the features the contact
// threshold alone has a gradient.
#pragma once
#include "trunk/input/contact_conditioning.hpp"
#include "trunk/input/token_bonds.hpp"
#include "trunk/relative_position.hpp"

namespace cpize::trunk {

/// The parts of a pair initialisation that not every checkpoint has.
struct PairInitialisationOptions {
  bool bond_types = false;
  std::optional<ContactConditioningOptions> contact = std::nullopt;
};

/// What the options ask for must be given, and nothing else.
struct PairConditioningFeatures {
  std::optional<Sharded<Pair>> type_bonds = std::nullopt;
  std::optional<ContactFeatures> contact = std::nullopt;
};

/// Parameters, in order: z_init_1.weight, z_init_2.weight [token_z, token_s], rel_pos.linear_layer.weight,
/// token_bonds.weight [token_z, 1], token_bonds_type.weight [7, token_z], contact_conditioning.*; the last two if asked
/// for. Gradients are this rank's share: reduce_gradients finishes them.
class PairInitialisationImpl : public torch::nn::Module {
 public:
  /// The width of the pair representation is `rel_pos.token_z`.
  PairInitialisationImpl(std::int64_t token_s, const RelativePositionOptions& rel_pos,
                         const PairInitialisationOptions& options = {});

  /// Every rank of the mesh calls it. ContractError where the shapes do not belong together.
  Sharded<Pair> forward(const Sharded<Single>& s_inputs, const RelativePositionFeatures& position,
                        const Sharded<Pair>& bonds, const PairConditioningFeatures& conditioning = {});

  Projection z_init_1;
  Projection z_init_2;
  RelativePositionEncoder rel_pos;
  TokenBonds bonds;  // its children are registered here, where a checkpoint has them
  Projection token_bonds;
  EmbeddingTable token_bonds_type{nullptr};
  ContactConditioning contact_conditioning{nullptr};
};
TORCH_MODULE(PairInitialisation);

}  // namespace cpize::trunk
