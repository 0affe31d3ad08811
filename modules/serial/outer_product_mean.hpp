// The outer product mean: what the rows of an MSA say about each pair of tokens.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "serial/initialisers.hpp"

namespace cpize::serial {

/// With n = norm(m), a = proj_a(n) * mask, b = proj_b(n) * mask:
///   o_ij = sum_s a_si (x) b_sj / max(1, sum_s mask_si mask_sj)      (hidden x hidden channels, those of a major)
///   z_ij = proj_o(o_ij)
/// Parameters, in order: norm.{weight,bias}, proj_a.weight, proj_b.weight [hidden, msa_s], proj_o.{weight,bias}
/// [token_z, hidden hidden].
class OuterProductMeanImpl : public torch::nn::Module {
 public:
  OuterProductMeanImpl(int64_t msa_s, int64_t hidden, int64_t token_z);

  /// m [B,S,N,msa_s], mask [B,S,N] (1 valid, 0 padding; any dtype; may vary by row and by token) -> [B,N,N,token_z] in
  /// the dtype of m. The sum over s runs in promote_types(dtype, fp32), outside autocast. `chunk_size` > 0 sums proj_o
  /// over slices of that many channels of a: the same value up to rounding, with less memory. Masked positions enter
  /// no value, whatever number they hold whose square is finite in the dtype.
  at::Tensor forward(const at::Tensor& m, const at::Tensor& mask, int64_t chunk_size = 0);

  torch::nn::LayerNorm norm;
  torch::nn::Linear proj_a;
  torch::nn::Linear proj_b;
  torch::nn::Linear proj_o;
};
TORCH_MODULE(OuterProductMean);

}  // namespace cpize::serial
