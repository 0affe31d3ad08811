// Triangle multiplication on a mesh: each pair (i, j) is updated from the two other edges of all triangles (i, j, k).
//
// Math (Boltz-2, Algorithms 11 and 12 of AlphaFold 2): with n = norm_in(z):  [a, b] = p_in(n) * sigmoid(g_in(n)) *
// mask,
//   outgoing  o[i,j] = sum_k a[i,k] b[j,k]        incoming  o[i,j] = sum_k a[k,i] b[k,j]      (per channel)
//   y = p_out(norm_out(o)) * sigmoid(g_out(n))
// The sum is independent per channel, so the gated edges go to layout PairByChannel (each rank holds all pairs of
// C / Q channels), are multiplied there by plain batched matrix products, and the sums come back to layout Pair.
//
// Shapes: z [B,N,N,C], mask [B,N,N] (1 valid, 0 padding; any dtype) -> y [B,N,N,C]. Any N, any mesh; an empty shard
// takes part in every exchange. dtype: that of z; under autocast that of autocast (norms fp32). The sum over k runs in
// promote_types(dtype, fp32); what is exchanged has the operand's dtype.
//
// Cost per rank, Q = cp0 * cp1, b = B N N C / Q elements (one shard of z):
//   forward sends    3 b (Q-1)/Q where Q divides C, else a little more on the ranks with one channel more
//   backward sends   the same: 1 b for the gradient of o, 2 b for those of a and b
//   saved            3 b: a and b in PairByChannel, o in Pair (and the input z)
//   peak             about 1 b + 6 b/chunks in inference, 4 b + 4 b/chunks in forward, 6 b + 6 b/chunks with backward,
//   where
//                    y, its gradient and the returned gradient are 1 b each. Where the graph is kept (retain_graph),
//                    backward may not reuse what was saved: 3 b more.
// One exchange a chunk and direction, i.e. 2 chunks in forward and 2 chunks in backward, on every rank alike: the
// ranks must agree on requires_grad of the inputs.
//
// Masked positions may hold any finite number (1e30): no valid value and no gradient depends on it, given that the
// output gradient is zero there. Backward is hand-written and has no backward of its own (NotImplemented).
#pragma once
#include "layout/sharded.hpp"
#include "trunk/parameters.hpp"

namespace cpize::trunk {

/// Which edges of the triangle are multiplied.
enum class TriangleDirection { outgoing, incoming };

struct TriangleMultiplicationOptions {
  std::int64_t channel_chunks = 8;  // exchanges in flight hold C / channel_chunks channels; fewer where Q is large
  std::int64_t panel_rows = 0;      // pairs that are projected at a time; 0: a sixteenth of the shard
  bool fused = true;                // use the fused kernels where they apply (triangle_fused.hpp)
};

/// Parameters, in order and named as in a checkpoint: norm_in.{weight,bias}, p_in.weight, g_in.weight [2 dim, dim] (a
/// is the first half), norm_out.{weight,bias}, p_out.weight, g_out.weight [dim, dim]. Gradients are this rank's share:
/// reduce_gradients finishes them.
class TriangleMultiplicationImpl : public torch::nn::Module {
 public:
  TriangleMultiplicationImpl(std::int64_t dim, TriangleDirection direction,
                             const TriangleMultiplicationOptions& options = {});

  /// Every rank of the mesh calls it. ContractError where mask and z do not belong together.
  Sharded<Pair> forward(const Sharded<Pair>& z, const Sharded<Pair>& mask);

  /// z + forward(z, mask): one pass over memory where the fused kernels apply. `overwrite`: z is the caller's own and
  /// may hold the result, which is done only where no gradients are recorded.
  Sharded<Pair> residual(const Sharded<Pair>& z, const Sharded<Pair>& mask, bool overwrite = false);

  const TriangleDirection direction;
  TriangleMultiplicationOptions options;
  Norm norm_in;
  Projection p_in;
  Projection g_in;
  Norm norm_out;
  Projection p_out;
  Projection g_out;

 private:
  Sharded<Pair> apply(const Sharded<Pair>& z, const Sharded<Pair>& mask, bool residual, bool overwrite);
};
TORCH_MODULE(TriangleMultiplication);

}  // namespace cpize::trunk
