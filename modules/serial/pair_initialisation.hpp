// Pair initialisation: the first pair representation, from the tokens' embeddings, their relative positions, their
// bonds and the contacts asked for.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <optional>

#include "serial/contact_conditioning.hpp"
#include "serial/relative_position_encoder.hpp"
#include "serial/token_bonds.hpp"

namespace cpize::serial {

/// The parts of a pair initialisation that not every checkpoint has.
struct PairInitialisationOptions {
  bool bond_types = false;
  std::optional<ContactConditioningOptions> contact = std::nullopt;
};

/// type_bonds [B,N,N] integer, 0 where no bond. What the options leave out may be undefined.
struct PairConditioningFeatures {
  at::Tensor type_bonds;
  ContactFeatures contact;

  static PairConditioningFeatures from(const FeatureSource& features);
};

/// z[i,j] = z_init_1(s_inputs)[i] + z_init_2(s_inputs)[j] + rel_pos[i,j] + token_bonds(bond[i,j])
///          + token_bonds_type[type[i,j]] + contact_conditioning[i,j]
/// Parameters, in order: z_init_1.weight, z_init_2.weight [token_z, token_s], rel_pos.linear_layer.weight,
/// token_bonds.weight [token_z, 1], token_bonds_type.weight [7, token_z], contact_conditioning.*; the last two if asked
/// for.
class PairInitialisationImpl : public torch::nn::Module {
 public:
  /// The width of the pair representation is `rel_pos.token_z`.
  PairInitialisationImpl(int64_t token_s, const RelativePositionOptions& rel_pos,
                         const PairInitialisationOptions& options = {});

  /// s_inputs [B,N,token_s], bonds [B,N,N,1] (feature "token_bonds") -> z [B,N,N,token_z] in the dtype of s_inputs.
  at::Tensor forward(const at::Tensor& s_inputs, const RelativePositionFeatures& position, const at::Tensor& bonds,
                     const PairConditioningFeatures& conditioning = {});

  torch::nn::Linear z_init_1;
  torch::nn::Linear z_init_2;
  RelativePositionEncoder rel_pos;
  TokenBonds bonds;  // its children are registered here, where a checkpoint has them
  torch::nn::Linear token_bonds;
  torch::nn::Embedding token_bonds_type{nullptr};
  ContactConditioning contact_conditioning{nullptr};
};
TORCH_MODULE(PairInitialisation);

}  // namespace cpize::serial
