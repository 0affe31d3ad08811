#include "trunk/pair_initialisation.hpp"

#include <ATen/ATen.h>

#include "error/error.hpp"
#include "layout/redistribute.hpp"
#include "trunk/pair_assembly.hpp"

namespace cpize::trunk {

PairInitialisationImpl::PairInitialisationImpl(std::int64_t token_s, const RelativePositionOptions& position)
    : z_init_1(register_module("z_init_1", Projection(token_s, position.token_z))),
      z_init_2(register_module("z_init_2", Projection(token_s, position.token_z))),
      rel_pos(register_module("rel_pos", RelativePositionEncoder(position))),
      token_bonds(register_module("token_bonds", Projection(1, position.token_z))) {}

Sharded<Pair> PairInitialisationImpl::forward(const Sharded<Single>& s_inputs, const RelativePositionFeatures& position,
                                              const Sharded<Pair>& bonds) {
  const Shape& tokens = s_inputs.global();
  const std::int64_t token_s = z_init_1->weight.size(1);
  if (tokens.size() != 3 || tokens[2] != token_s)
    throw ContractError("pair initialisation takes s_inputs [B,N," + std::to_string(token_s) + "]");
  if (bonds.global() != Shape{tokens[0], tokens[1], tokens[1], 1})
    throw ContractError("pair initialisation: bonds must be [B,N,N,1] with B and N of s_inputs");
  if (position.asym_id.global() != Shape{tokens[0], tokens[1]})
    throw ContractError("pair initialisation: the position features must be [B,N] with B and N of s_inputs");

  const auto rows = redistribute<SingleRow>(s_inputs.with(at::linear(s_inputs.local(), z_init_1->weight)));
  const auto columns = redistribute<SingleCol>(s_inputs.with(at::linear(s_inputs.local(), z_init_2->weight)));
  const auto ids = RelativePositionIds::gather(position);
  return bonds.with(assemble_pairs(rows.local(), columns.local(), rel_pos->linear_layer->weight, token_bonds->weight,
                                   ids, bonds.local(), rel_pos->options));
}

}  // namespace cpize::trunk
