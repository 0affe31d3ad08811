#include "serial/pair_initialisation.hpp"

namespace cpize::serial {

PairInitialisationImpl::PairInitialisationImpl(int64_t token_s, const RelativePositionOptions& position)
    : z_init_1(register_module("z_init_1", plain_linear(token_s, position.token_z))),
      z_init_2(register_module("z_init_2", plain_linear(token_s, position.token_z))),
      rel_pos(register_module("rel_pos", RelativePositionEncoder(position))),
      token_bonds(register_module("token_bonds", plain_linear(1, position.token_z))) {}

at::Tensor PairInitialisationImpl::forward(const at::Tensor& s_inputs, const RelativePositionFeatures& position,
                                           const at::Tensor& bonds) {
  const at::Tensor z = z_init_1(s_inputs).unsqueeze(2) + z_init_2(s_inputs).unsqueeze(1);
  return z + rel_pos(position) + token_bonds(bonds.to(token_bonds->weight.scalar_type()));
}

}  // namespace cpize::serial
