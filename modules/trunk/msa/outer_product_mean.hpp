// The outer product mean on a mesh: what the rows of an MSA say about each pair of tokens.
//
// Math (AlphaFold 3, Algorithm 9): with n = norm(m), a = proj_a(n) mask, b = proj_b(n) mask,
//   z[i,j] = proj_o(sum_s a[s,i] (x) b[s,j]) / max(1, sum_s mask[s,i] mask[s,j]) + bias
// with h x h channels in the middle, those of a major. The operands are local in layout Msa (rows over all ranks,
// tokens whole). a goes to MsaRow and b to MsaCol: each rank then has all rows of its own row and column tokens, h
// channels, and computes its pairs alone. The h h channels of a pair exist for a tile of pairs at a time: a product
// with K = S, then at once proj_o. The count is a product of the masks, exact for masks that vary by row and by token.
//
// Shapes: m [B,S,N,msa_s], mask [B,S,N] (1 valid, 0 padding; any dtype) -> z [B,N,N,token_z], layout Pair. Any S and N,
// any mesh; ranks without rows or tokens take part in every exchange. dtype: that of m; under autocast that of autocast
// (the norm fp32). Sums over s run in promote_types(dtype, fp32); what is exchanged has the operand's dtype.
//
// Cost per rank, Q = cp0 * cp1, u = B S N / Q elements (one channel of an MSA shard):
//   forward sends   (h + 1) u (cp0 + cp1) (Q-1)/Q: operands and masks, to each rank that needs them
//   backward sends  h u (cp0 + cp1) (Q-1)/Q: their gradients, partial sums of the ranks that share them
//   saved           h u (cp0 + cp1): a and b as exchanged; the counts, one channel of a pair shard (and the input m)
//   peak            z, plus about 2 h u (cp0 + cp1) for an exchange, plus tiles: 2/32 of the h h channels of a pair
//                   shard. With backward h u cp1 more (the gradient of b, added up in fp32 or wider), and the gradients
//                   of z and m.
// Four exchanges forward (a, b, the masks to rows and to columns), two backward, on every rank alike: the ranks must
// agree on requires_grad of the inputs.
//
// Masked positions may hold any finite number whose square is finite (1e30): no value and no gradient depends on it.
// Backward is hand-written and has no backward of its own (NotImplemented).
#pragma once
#include "layout/sharded.hpp"
#include "trunk/parameters.hpp"

namespace cpize::trunk {

struct OuterProductMeanOptions {
  std::int64_t tile_pairs = 0;  // pairs whose h h channels exist at a time; 0: a 32nd of the shard
  std::int64_t panel_rows = 0;  // MSA positions projected at a time; 0: a sixteenth of the shard
};

/// Parameters, in order and named as in a checkpoint: norm.{weight,bias}, proj_a.weight, proj_b.weight [hidden, msa_s],
/// proj_o.{weight,bias} [token_z, hidden hidden]. Gradients are this rank's share: reduce_gradients finishes them.
class OuterProductMeanImpl : public torch::nn::Module {
 public:
  OuterProductMeanImpl(std::int64_t msa_s, std::int64_t hidden, std::int64_t token_z,
                       const OuterProductMeanOptions& options = {});

  /// Every rank of the mesh calls it. ContractError where mask and m do not belong together.
  Sharded<Pair> forward(const Sharded<Msa>& m, const Sharded<Msa>& mask);

  OuterProductMeanOptions options;
  Norm norm;
  Projection proj_a;
  Projection proj_b;
  BiasedProjection proj_o;
};
TORCH_MODULE(OuterProductMean);

}  // namespace cpize::trunk
