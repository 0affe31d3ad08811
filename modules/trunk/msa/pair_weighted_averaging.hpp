// Pair-weighted averaging on a mesh: each token of an MSA row takes up the others, weighted by what the pairs say.
//
// Math (AlphaFold 3, Algorithm 10): with n = norm_m(m), per head h,
//   w[i,j] = softmax_j(proj_z(norm_z(z))[i,j,h] - 1e6 (1 - mask[i,j])),  o[s,i] = sum_j w[i,j] proj_m(n)[s,j,h]
//   y = proj_o(sigmoid(proj_g(n)) o)
// Rows of the MSA do not see each other and layout Msa has all tokens of its rows, so everything with a channel of the
// MSA is local. Only the logits move: one channel a head, from Pair to every rank (PairWhole), a few heads at a time,
// so that whole weights never weigh more than a part of a pair shard. Each rank takes the softmax itself, which costs
// little beside the sums over its rows. The gradient of the logits is a partial sum of every rank's rows: it goes back
// by the adjoint exchange.
//
// A masked pair has weight exp(-1e6) = 0. Where a token has no valid partner, all have the same penalty, which a
// softmax does not see: it is left out there, as in the serial block. Whether it has one is the only other message: the
// maximum of the mask over cp1, B N / cp0 numbers.
//
// Shapes: m [B,S,N,msa_s] layout Msa, z [B,N,N,token_z] and mask [B,N,N] (1 valid, 0 padding; any dtype) layout Pair ->
// y, layout Msa, as m. Any S and N, any mesh; ranks without rows take part in every exchange. dtype: that of m; under
// autocast that of autocast (norms and softmax fp32).
//
// Cost per rank, Q = cp0 * cp1, H heads, b(c) = B N N c / Q elements, u(c) = B S N c / Q:
//   forward sends   b(H): this rank's logits to all others
//   backward sends  b(H) for the logits again, as much in promote_types(dtype, fp32) for their gradient
//   saved           b(H): the logits in layout Pair (and the inputs m and z)
//   peak            y; the weights of the heads at a time, at most about b(token_z) / 2; a panel of MSA rows. With
//                   backward also the gradients of m and z, that of the normalised m in fp32 or wider, and whole
//                   gradients of weights: together at most 2 b(token_z) + 3 u(msa_s)
// One exchange a group of heads forward, two backward, on every rank alike: the ranks must agree on requires_grad of
// the inputs.
//
// Masked pairs of z may hold any finite number whose square is finite (1e30); so may m at tokens that are masked as a
// partner of every valid token. Backward is hand-written and has no backward of its own (NotImplemented).
#pragma once
#include "layout/sharded.hpp"
#include "trunk/parameters.hpp"

namespace cpize::trunk {

struct PairWeightedAveragingOptions {
  std::int64_t heads_at_once = 0;  // heads whose whole weights exist at a time; 0: token_z / (16 Q), at least one
  std::int64_t panel_rows = 0;     // MSA positions, and pairs, processed at a time; 0: an eighth of the shard
};

/// Parameters, in order and named as in a checkpoint: norm_m.{weight,bias}, norm_z.{weight,bias}, proj_m.weight,
/// proj_g.weight [heads head_width, msa_s], proj_z.weight [heads, token_z], proj_o.weight [msa_s, heads head_width].
/// Gradients are this rank's share: reduce_gradients finishes them.
class PairWeightedAveragingImpl : public torch::nn::Module {
 public:
  PairWeightedAveragingImpl(std::int64_t msa_s, std::int64_t token_z, std::int64_t head_width, std::int64_t heads,
                            const PairWeightedAveragingOptions& options = {});

  /// Every rank of the mesh calls it. ContractError where m, z and mask do not belong together.
  Sharded<Msa> forward(const Sharded<Msa>& m, const Sharded<Pair>& z, const Sharded<Pair>& mask);

  const std::int64_t head_width, heads;
  PairWeightedAveragingOptions options;
  Norm norm_m;
  Norm norm_z;
  Projection proj_m;
  Projection proj_g;
  Projection proj_z;
  Projection proj_o;
};
TORCH_MODULE(PairWeightedAveraging);

}  // namespace cpize::trunk
