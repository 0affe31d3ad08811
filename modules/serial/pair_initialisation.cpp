#include "serial/pair_initialisation.hpp"

namespace cpize::serial {

PairConditioningFeatures PairConditioningFeatures::from(const FeatureSource& features) {
  return {features("type_bonds"), ContactFeatures::from(features)};
}

PairInitialisationImpl::PairInitialisationImpl(int64_t token_s, const RelativePositionOptions& position,
                                               const PairInitialisationOptions& options)
    : z_init_1(register_module("z_init_1", plain_linear(token_s, position.token_z))),
      z_init_2(register_module("z_init_2", plain_linear(token_s, position.token_z))),
      rel_pos(register_module("rel_pos", RelativePositionEncoder(position))),
      bonds(position.token_z, options.bond_types),
      token_bonds(register_module("token_bonds", bonds->token_bonds)) {
  if (options.bond_types) token_bonds_type = register_module("token_bonds_type", bonds->token_bonds_type);
  if (options.contact)
    contact_conditioning =
        register_module("contact_conditioning", ContactConditioning(position.token_z, *options.contact));
}

at::Tensor PairInitialisationImpl::forward(const at::Tensor& s_inputs, const RelativePositionFeatures& position,
                                           const at::Tensor& bonded, const PairConditioningFeatures& conditioning) {
  at::Tensor z = z_init_1(s_inputs).unsqueeze(2) + z_init_2(s_inputs).unsqueeze(1);
  z = z + rel_pos(position) + bonds(bonded, conditioning.type_bonds);
  return contact_conditioning.is_empty() ? z : z + contact_conditioning(conditioning.contact);
}

}  // namespace cpize::serial
