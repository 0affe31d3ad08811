// Relative position: which chain, residue, token and symmetric copy two tokens are apart, as a pair embedding.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "serial/feature_source.hpp"
#include "serial/initialisers.hpp"

namespace cpize::serial {

struct RelativePositionOptions {
  int64_t token_z = 128;
  int64_t r_max = 32;          // residue and token offsets are clipped to [-r_max, r_max]
  int64_t s_max = 2;           // offsets between symmetric copies to [-s_max, s_max]
  bool fix_sym_check = true;   // the "no offset" class of copies: different entities (true) or the same chain (false)
  bool cyclic_pos_enc = true;  // residue offsets of cyclic chains are taken modulo the period
};

/// All [B,N], integer. `cyclic_period` (integer or float) is 0 where a chain is not cyclic.
struct RelativePositionFeatures {
  at::Tensor asym_id, residue_index, entity_id, token_index, sym_id, cyclic_period;

  static RelativePositionFeatures from(const FeatureSource& features);
};

/// Parameter: linear_layer.weight [token_z, 2 (2 r_max + 2) + 1 + 2 s_max + 2]; its inputs are, in order, the one-hot
/// residue offset, the one-hot token offset, "same entity" and the one-hot copy offset.
class RelativePositionEncoderImpl : public torch::nn::Module {
 public:
  explicit RelativePositionEncoderImpl(const RelativePositionOptions& options);

  /// -> [B,N,N,token_z] in the dtype of the weight; [b,i,j] describes i minus j.
  at::Tensor forward(const RelativePositionFeatures& features);

  const RelativePositionOptions options;
  torch::nn::Linear linear_layer;

 private:
  at::Tensor residue_offset(const RelativePositionFeatures& features) const;
};
TORCH_MODULE(RelativePositionEncoder);

}  // namespace cpize::serial
