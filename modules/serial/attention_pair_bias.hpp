// Attention with pair bias, token form: each token attends to all tokens, biased by the pair representation.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/pimpl.h>

#include "serial/initialisers.hpp"

namespace cpize::serial {

struct AttentionPairBiasOptions {
  int64_t c_s = 384;  // width of the tokens; c_s / num_heads per head
  int64_t c_z = 128;  // width of the pairs
  int64_t num_heads = 16;
  double inf = 1e6;               // a masked key's logit is this much lower
  bool compute_pair_bias = true;  // false: forward is given the bias in place of z
};

/// Per head h of width d, with q = proj_q(s), k = proj_k(k_in), v = proj_v(k_in):
///   w_ij = softmax_j(q_i k_j / sqrt(d) + bias_ij), bias = proj_z(z);  y = proj_o(sigmoid(proj_g(s)) * sum_j w_ij v_j)
/// Parameters, in order: proj_q.{weight,bias}, proj_k.weight, proj_v.weight, proj_g.weight, proj_z.0.{weight,bias} (a
/// LayerNorm), proj_z.1.weight (both only if compute_pair_bias), proj_o.weight.
class AttentionPairBiasImpl : public torch::nn::Module {
 public:
  explicit AttentionPairBiasImpl(const AttentionPairBiasOptions& options);

  /// s [B M,Q,c_s] (M = `multiplicity`, the inner index), k_in [B M,K,c_s], z [B,Q,K,c_z] (or the bias [B,Q,K,heads]),
  /// shared by the M copies; mask [B M,K] of the keys (1 valid, 0 padding; any dtype) -> [B M,Q,c_s]. The softmax and
  /// what it sums run in promote_types(dtype, fp32), outside autocast.
  ///
  /// A masked key has weight exp(-inf) = 0, whatever finite number it holds. Where a sample has no valid key, all its
  /// keys have the same penalty, which the softmax does not see: it is left out there, since adding 1e6 to a logit
  /// would only round it.
  at::Tensor forward(const at::Tensor& s, const at::Tensor& z, const at::Tensor& mask, const at::Tensor& k_in,
                     int64_t multiplicity = 1);

  const AttentionPairBiasOptions options;
  torch::nn::Linear proj_q{nullptr}, proj_k{nullptr}, proj_v{nullptr}, proj_g{nullptr};
  torch::nn::Sequential proj_z{nullptr};
  torch::nn::Linear proj_o{nullptr};
};
TORCH_MODULE(AttentionPairBias);

}  // namespace cpize::serial
