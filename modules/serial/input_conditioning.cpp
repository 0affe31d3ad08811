#include "serial/input_conditioning.hpp"

#include <ATen/Functions.h>
#include <torch/utils.h>

namespace cpize::serial {
namespace {

torch::nn::Embedding zero_embedding(int64_t rows, int64_t dim) {
  auto table = torch::nn::Embedding(rows, dim);
  torch::NoGradGuard no_grad;
  table->weight.zero_();
  return table;
}

}  // namespace

InputConditioningFeatures InputConditioningFeatures::from(const FeatureSource& features) {
  return {TokenInputFeatures::from(features), features("method_feature"), features("modified"),
          features("cyclic_period"), features("mol_type")};
}

InputConditioningImpl::InputConditioningImpl(int64_t token_s, const InputConditioningOptions& options)
    : options(options), token_input(token_s) {
  register_module("res_type_encoding", token_input->res_type_encoding);
  register_module("msa_profile_encoding", token_input->msa_profile_encoding);
  if (options.method)
    method_conditioning_init = register_module("method_conditioning_init", zero_embedding(kMethods, token_s));
  if (options.modified)
    modified_conditioning_init = register_module("modified_conditioning_init", zero_embedding(2, token_s));
  if (options.cyclic) cyclic_conditioning_init = register_module("cyclic_conditioning_init", zero_linear(1, token_s));
  if (options.mol_type)
    mol_type_conditioning_init = register_module("mol_type_conditioning_init", zero_embedding(kMoleculeTypes, token_s));
}

at::Tensor InputConditioningImpl::forward(const InputConditioningFeatures& f) {
  at::Tensor s = token_input(f.input);
  if (options.method) s = s + method_conditioning_init(f.method_feature.to(at::kLong));
  if (options.modified) s = s + modified_conditioning_init(f.modified.to(at::kLong));
  if (options.cyclic) {
    const at::Tensor is_cyclic = f.cyclic_period.to(cyclic_conditioning_init->weight.scalar_type()).clamp_max(1.0);
    s = s + cyclic_conditioning_init(is_cyclic.unsqueeze(-1));
  }
  if (options.mol_type) s = s + mol_type_conditioning_init(f.mol_type.to(at::kLong));
  return s;
}

}  // namespace cpize::serial
