// Pair-weighted averaging: each token of an MSA row takes up the others, weighted by what the pairs say.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "serial/initialisers.hpp"

namespace cpize::serial {

/// With n = norm_m(m), per head h:
///   w_ij = softmax_j(proj_z(norm_z(z))_ijh - 1e6 (1 - mask_ij)),  o_si = sum_j w_ij proj_m(n)_sjh
///   y = proj_o(sigmoid(proj_g(n)) * o)
/// Parameters, in order: norm_m.{weight,bias}, norm_z.{weight,bias}, proj_m.weight, proj_g.weight [heads head_width,
/// msa_s], proj_z.weight [heads, token_z], proj_o.weight [msa_s, heads head_width].
class PairWeightedAveragingImpl : public torch::nn::Module {
 public:
  PairWeightedAveragingImpl(int64_t msa_s, int64_t token_z, int64_t head_width, int64_t heads);

  /// m [B,S,N,msa_s], z [B,N,N,token_z], mask of the pairs [B,N,N] (1 valid, 0 padding; any dtype) -> [B,S,N,msa_s] in
  /// the dtype of m. There is no mask of MSA rows: rows do not see each other. The softmax runs in promote_types(dtype,
  /// fp32). `chunk_heads` sums proj_o over the heads one by one: the same value up to rounding, with less memory.
  ///
  /// A masked pair has weight exp(-1e6) = 0, whatever number it holds whose square is finite in the dtype. Where a
  /// token has no valid partner, all have the same penalty, which a softmax does not see: it is left out there, since
  /// subtracting 1e6 would only round the logits.
  at::Tensor forward(const at::Tensor& m, const at::Tensor& z, const at::Tensor& mask, bool chunk_heads = false);

  const int64_t head_width, heads;
  torch::nn::LayerNorm norm_m;
  torch::nn::LayerNorm norm_z;
  torch::nn::Linear proj_m;
  torch::nn::Linear proj_g;
  torch::nn::Linear proj_z;
  torch::nn::Linear proj_o;
};
TORCH_MODULE(PairWeightedAveraging);

}  // namespace cpize::serial
