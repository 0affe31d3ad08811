#include "trunk/pair_initialisation.hpp"

#include <ATen/ATen.h>

#include "error/error.hpp"
#include "layout/redistribute.hpp"
#include "trunk/pair_assembly.hpp"

namespace cpize::trunk {

PairInitialisationImpl::PairInitialisationImpl(std::int64_t token_s, const RelativePositionOptions& position,
                                               const PairInitialisationOptions& options)
    : z_init_1(register_module("z_init_1", Projection(token_s, position.token_z))),
      z_init_2(register_module("z_init_2", Projection(token_s, position.token_z))),
      rel_pos(register_module("rel_pos", RelativePositionEncoder(position))),
      bonds(position.token_z, options.bond_types),
      token_bonds(register_module("token_bonds", bonds->token_bonds)) {
  if (options.bond_types) token_bonds_type = register_module("token_bonds_type", bonds->token_bonds_type);
  if (options.contact)
    contact_conditioning =
        register_module("contact_conditioning", ContactConditioning(position.token_z, *options.contact));
}

Sharded<Pair> PairInitialisationImpl::forward(const Sharded<Single>& s_inputs, const RelativePositionFeatures& position,
                                              const Sharded<Pair>& bonded,
                                              const PairConditioningFeatures& conditioning) {
  const Shape& tokens = s_inputs.global();
  const std::int64_t token_s = z_init_1->weight.size(1);
  if (tokens.size() != 3 || tokens[2] != token_s)
    throw ContractError("pair initialisation takes s_inputs [B,N," + std::to_string(token_s) + "]");
  if (bonded.global() != Shape{tokens[0], tokens[1], tokens[1], 1})
    throw ContractError("pair initialisation: bonds must be [B,N,N,1] with B and N of s_inputs");
  if (position.asym_id.global() != Shape{tokens[0], tokens[1]})
    throw ContractError("pair initialisation: the position features must be [B,N] with B and N of s_inputs");
  if (conditioning.contact.has_value() == contact_conditioning.is_empty())
    throw ContractError(
        "pair initialisation: contact features must be given where the block has a contact "
        "conditioning, and only there");
  if (conditioning.contact &&
      conditioning.contact->contact_threshold.global() != Shape{tokens[0], tokens[1], tokens[1]})
    throw ContractError("pair initialisation: the contact threshold must be [B,N,N] with B and N of s_inputs");

  const auto rows = redistribute<SingleRow>(s_inputs.with(at::linear(s_inputs.local(), z_init_1->weight)));
  const auto columns = redistribute<SingleCol>(s_inputs.with(at::linear(s_inputs.local(), z_init_2->weight)));
  PairTerms terms{rows.local(), columns.local(), {}, {}};
  terms.look_ups.push_back(rel_pos->look_up(RelativePositionIds::gather(position)));
  bonds->add_terms(terms, bonded, conditioning.type_bonds);
  if (conditioning.contact) terms.maps.push_back(contact_conditioning->map(*conditioning.contact));
  return bonded.with(assemble_pairs(terms, rows.local().size(0), rows.local().size(1), columns.local().size(1),
                                    rows.local().options()));
}

}  // namespace cpize::trunk
