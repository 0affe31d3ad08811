// Attention with pair bias on a mesh, token form: each token attends to all tokens, biased by the pair representation.
//
// Math (AlphaFold 3, Algorithm 24 without its conditioning; Boltz-2, attentionv2). Per head of width d, with q =
// proj_q(s), k = proj_k(k_in), v = proj_v(k_in), bias = proj_z(z) (a norm and a projection):
//   w_ij = softmax_j(q_i k_j / sqrt(d) + bias_ij, masked keys excluded);  y = proj_o(sigmoid(proj_g(s)) * sum_j w_ij
//   v_j)
// Each rank computes the share of its own pairs: the queries of its row tokens against the keys of its column tokens,
// with its own z. So z moves nowhere and no score is computed twice. A share is numerators, denominators and maxima
// (online softmax); one maximum over cp1 makes the shares comparable, one sum over cp1 adds them and leaves each
// token's result on the rank that owns it.
//
// Shapes: s [B,Q,C] or, M copies of each sample with one z, [B,Q,M,C]; k_in likewise with K tokens; z [B,Q,K,c_z], or
// the bias [B,Q,K,heads] where compute_pair_bias is false; mask [B,K] of the keys (1 valid, 0 padding; any dtype) -> y
// shaped as s. Any sizes, any mesh; an empty shard takes part in every exchange. dtype: that of s; under autocast that
// of autocast (the norm fp32). Scores, softmax and sums: promote_types(dtype, fp32), z's panels are converted on the
// way.
//
// Cost per rank, Q = cp0 * cp1, n = B M N / Q tokens, H heads, w the width of the sums (4 bytes; 8 in fp64):
//   forward sends    n C (cp1-1) of q to the rows, n C cp0 of k_in to the columns (keys and values are projected
//                    there), n (C + H) w (cp1-1) of sums, n H w cp1 (cp1-1) of maxima; B N of the mask
//   backward sends   n (C + H) w (cp1-1) of output gradients, n C w (cp1-1) of those of q, n C w cp0 of those of k_in
//   saved            O(single): s, q of the rows (n C cp1), k_in of the columns (n C cp0), maxima and sums; no scores,
//                    no bias (z is an input)
//   peak             a 32nd of the shard of z at a time: about b(c_z)/8 + b(H)/8 beside the singles, in backward twice
//                    that and the returned gradient of z
// Five exchanges in forward (one of them the maximum), three in backward, on every rank alike: the ranks must agree on
// requires_grad of the inputs.
//
// Masked tokens may hold any finite number (1e30): no valid value and no gradient depends on it, given that the output
// gradient is zero there. A sample without any valid key attends to all its keys, as in serial, where all have the same
// penalty. Backward is hand-written and has no backward of its own (NotImplemented).
#pragma once
#include <torch/nn/modules/container/sequential.h>

#include "layout/sharded.hpp"
#include "trunk/parameters.hpp"

namespace cpize::trunk {

struct AttentionPairBiasOptions {
  std::int64_t c_s = 384;  // width of the tokens; c_s / num_heads a head
  std::int64_t c_z = 128;  // width of the pairs
  std::int64_t num_heads = 16;
  bool compute_pair_bias = true;  // false: forward is given the bias in place of z
  std::int64_t panel_rows = 0;    // pairs that are computed at a time, rounded to whole rows; 0: a 32nd of the shard
};

/// proj_z of a checkpoint: "0" a norm, "1" a projection to the heads.
class PairBiasProjectionImpl : public torch::nn::Module {
 public:
  PairBiasProjectionImpl(std::int64_t c_z, std::int64_t heads);
  Norm norm;
  Projection projection;
};
TORCH_MODULE(PairBiasProjection);

/// Parameters, in order and named as in a checkpoint: proj_q.{weight,bias}, proj_k.weight, proj_v.weight,
/// proj_g.weight, proj_z.0.{weight,bias}, proj_z.1.weight (both only if compute_pair_bias), proj_o.weight. Gradients
/// are this rank's share: reduce_gradients finishes them.
class AttentionPairBiasImpl : public torch::nn::Module {
 public:
  explicit AttentionPairBiasImpl(const AttentionPairBiasOptions& options);

  /// k_in: s itself where tokens attend to one another. Every rank of the mesh calls it. ContractError where the shapes
  /// do not belong together.
  Sharded<Single> forward(const Sharded<Single>& s, const Sharded<Pair>& z, const Sharded<Single>& mask,
                          const Sharded<Single>& k_in);

  const AttentionPairBiasOptions options;
  BiasedProjection proj_q{nullptr};
  Projection proj_k{nullptr}, proj_v{nullptr}, proj_g{nullptr};
  PairBiasProjection proj_z{nullptr};
  Projection proj_o{nullptr};

 private:
  void check(const Sharded<Single>& s, const Sharded<Pair>& z, const Sharded<Single>& mask,
             const Sharded<Single>& k_in) const;
};
TORCH_MODULE(AttentionPairBias);

}  // namespace cpize::trunk
