#include "trunk/input/input_conditioning.hpp"

#include <ATen/ATen.h>

#include "error/error.hpp"

namespace cpize::trunk {
namespace {

const at::Tensor& given(const std::optional<Sharded<Single>>& feature, const char* name) {
  if (!feature) throw ContractError(std::string("input conditioning: the feature ") + name + " is missing");
  return feature->local();
}

}  // namespace

InputConditioningImpl::InputConditioningImpl(std::int64_t token_s, const InputConditioningOptions& options)
    : options(options), token_input(token_s) {
  register_module("res_type_encoding", token_input->res_type_encoding);
  register_module("msa_profile_encoding", token_input->msa_profile_encoding);
  if (options.method)
    method_conditioning_init = register_module("method_conditioning_init", EmbeddingTable(kMethods, token_s));
  if (options.modified)
    modified_conditioning_init = register_module("modified_conditioning_init", EmbeddingTable(2, token_s));
  if (options.cyclic) cyclic_conditioning_init = register_module("cyclic_conditioning_init", Projection(1, token_s));
  if (options.mol_type)
    mol_type_conditioning_init = register_module("mol_type_conditioning_init", EmbeddingTable(kMoleculeTypes, token_s));
}

Sharded<Single> InputConditioningImpl::forward(const InputConditioningFeatures& f) {
  const Sharded<Single> tokens = token_input(f.input);
  at::Tensor s = tokens.local();
  const auto look_up = [&s](const EmbeddingTable& table, const at::Tensor& classes) {
    s = s + at::embedding(table->weight, classes.to(at::kLong));
  };
  if (options.method) look_up(method_conditioning_init, given(f.method_feature, "method_feature"));
  if (options.modified) look_up(modified_conditioning_init, given(f.modified, "modified"));
  if (options.cyclic) {
    const at::Tensor& weight = cyclic_conditioning_init->weight;
    const at::Tensor is_cyclic = given(f.cyclic_period, "cyclic_period").to(weight.scalar_type()).clamp_max(1.0);
    s = s + at::linear(is_cyclic.unsqueeze(-1), weight);
  }
  if (options.mol_type) look_up(mol_type_conditioning_init, given(f.mol_type, "mol_type"));
  return tokens.with(s);
}

}  // namespace cpize::trunk
