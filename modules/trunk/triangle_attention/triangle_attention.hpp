// Triangle attention on a mesh: the pairs of each row (starting node) or column (ending node) attend to each other.
//
// Math (Boltz-2; Algorithms 13 and 14 of AlphaFold 2, 14 and 15 of AlphaFold 3), starting node, with n = layer_norm(z),
// H heads of width d:
//   T[h,i,j] = linear(n[i,j])[h]                                 q, k, v = mha.linear_q(n), mha.linear_k(n), ..
//   s[r,h,i,j] = q[r,i,h] . k[r,j,h] / sqrt(d) + T[h,i,j] + 1e9 (mask[r,j] - 1)
//   y[r,i] = mha.linear_o( sigmoid(mha.linear_g(n[r,i])) * softmax_j(s[r,:,i,j]) v[r,j] )
// Ending node: the same on z and mask with their two token dimensions exchanged.
// Rows are independent but for T, so z goes to layout PairByRow (ending node: PairByCol) and back, and T, H channels
// wide, is gathered head by head. The core is rows in both cases: the ending node's exchange unpacks its columns as
// rows, which costs nothing more, and where no exchange is needed it works on a transposed view.
//
// Shapes: z [B,N,N,C], mask [B,N,N] (1 valid, 0 padding; any dtype) -> y [B,N,N,C]. Any N, any mesh; an empty shard
// takes part in every exchange. dtype: that of z; under autocast that of autocast (norm and softmax fp32). Softmax and
// sums over keys run in promote_types(operand, fp32).
//
// Cost per rank, Q = cp0 * cp1, P = the ranks that share a row (cp1; ending node: cp0), b = B N N C / Q elements:
//   forward sends    2 b (P-1)/P for z and y, H / C b for T, b (P-1)/(P C) for the mask
//   backward sends   3 b (P-1)/P for z again, dy and dz, H / C b for T again, and as much for its gradient, a sum
//                    of all ranks' shares, in promote_types(operand, fp32)
//   saved            the mask; z is an input. Everything else is computed again.
//   peak             3 b in inference, 4 b in forward, 5 b with backward (bf16: 6 b, since the gradient of the
//                    normalised input is summed in fp32), y and the returned gradient among them, and besides
//                    score panels of `score_elements` each (forward 2, backward 3 of them), one head's whole T and
//                    its gradient.
// On a GPU the fused path (attention_fused.hpp), where it applies, gathers all heads' T at once (H Q / C b, in both
// directions once) and takes a quarter of the rows at a time (an eighth where they are exchanged: one window of rows is
// attended to while the next one comes and the last one leaves): peak 3 b in inference, 7 b with backward. It saves
// 1.1 b: T, o and the log sums of the softmax; to send z again takes a tenth of the time that o takes. Exchanges: one
// for each of z, mask, y and for each head in forward; for z, dy, dz and twice for each head in backward; fused, one
// for each window of z, y, dy and dz instead, and one for T. The ranks must agree on requires_grad of the inputs.
// Other GPUs, and other widths, take the library's memory-efficient attention in two bytes (attention_efficient.hpp):
// nothing saved but the mask, T of all heads at once, and in backward b for gradients of T.
//
// Masked pairs may hold any finite number (1e30). They are no keys; as long as the mask is an outer product of a token
// mask, no valid value and no gradient depends on them, given that the output gradient is zero there. (T[h,i,j] comes
// from pair (i, j) even where that pair is masked and key j is not.) In a row whose keys are all masked the shift is
// the same for all keys and cancels: softmax of the scores, up to the rounding of 1e9, in which fp64 follows serial;
// fp32 sums and the fused path do without the shift there, since fp32 would round the scores away.
//
// Backward is hand-written and has no backward of its own (NotImplemented).
#pragma once
#include "layout/sharded.hpp"
#include "trunk/parameters.hpp"

namespace cpize::trunk {

/// Around which node of the triangle attention runs: starting attends along rows, ending along columns.
enum class TriangleNode { starting, ending };

struct TriangleAttentionOptions {
  std::int64_t score_elements = 0;  // scores that exist at a time, rows x queries x N; 0: C N / 32 a row held, within
                                    // limits of the device
  bool fused = true;                // on a GPU in two bytes: fused attention rather than panels of scores,
  bool kernels = true;              // by kernels of ours where they apply (attention_fused.hpp), else by the library's
                                    // (attention_efficient.hpp)
};

/// Parameters, named mha.* in a checkpoint: linear_q, linear_k, linear_v [heads head_width, dim], linear_o [dim, heads
/// head_width], linear_g [heads head_width, dim]; head after head.
class AttentionProjectionsImpl : public torch::nn::Module {
 public:
  AttentionProjectionsImpl(std::int64_t dim, std::int64_t width);

  Projection linear_q;
  Projection linear_k;
  Projection linear_v;
  Projection linear_o;
  Projection linear_g;
};
TORCH_MODULE(AttentionProjections);

/// Parameters, in order and named as in a checkpoint: layer_norm.{weight,bias}, linear.weight [heads, dim], mha.*.
/// Gradients are this rank's share: reduce_gradients finishes them.
class TriangleAttentionImpl : public torch::nn::Module {
 public:
  TriangleAttentionImpl(std::int64_t dim, std::int64_t head_width, std::int64_t heads, TriangleNode node,
                        const TriangleAttentionOptions& options = {});

  /// Every rank of the mesh calls it. ContractError where mask and z do not belong together.
  Sharded<Pair> forward(const Sharded<Pair>& z, const Sharded<Pair>& mask);

  /// z + forward(z, mask): one pass over memory where the fused kernels apply. `overwrite`: z is the caller's own and
  /// may hold the result, which is done only where no gradients are recorded.
  Sharded<Pair> residual(const Sharded<Pair>& z, const Sharded<Pair>& mask, bool overwrite = false);

  const std::int64_t heads;
  const TriangleNode node;
  TriangleAttentionOptions options;
  Norm layer_norm;
  Projection linear;
  AttentionProjections mha;

 private:
  Sharded<Pair> apply(const Sharded<Pair>& z, const Sharded<Pair>& mask, bool residual, bool overwrite);
};
TORCH_MODULE(TriangleAttention);

}  // namespace cpize::trunk
