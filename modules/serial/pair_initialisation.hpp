// Pair initialisation: the first pair representation, from the tokens' embeddings, their relative positions and their
// bonds.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "serial/relative_position_encoder.hpp"

namespace cpize::serial {

/// z[i,j] = z_init_1(s_inputs)[i] + z_init_2(s_inputs)[j] + rel_pos[i,j] + token_bonds(bond[i,j]). Parameters, in
/// order: z_init_1.weight, z_init_2.weight [token_z, token_s], rel_pos.linear_layer.weight, token_bonds.weight
/// [token_z, 1].
class PairInitialisationImpl : public torch::nn::Module {
 public:
  /// The width of the pair representation is `rel_pos.token_z`.
  PairInitialisationImpl(int64_t token_s, const RelativePositionOptions& rel_pos);

  /// s_inputs [B,N,token_s], bonds [B,N,N,1] (feature "token_bonds") -> z [B,N,N,token_z] in the dtype of s_inputs.
  at::Tensor forward(const at::Tensor& s_inputs, const RelativePositionFeatures& position, const at::Tensor& bonds);

  torch::nn::Linear z_init_1;
  torch::nn::Linear z_init_2;
  RelativePositionEncoder rel_pos;
  torch::nn::Linear token_bonds;
};
TORCH_MODULE(PairInitialisation);

}  // namespace cpize::serial
