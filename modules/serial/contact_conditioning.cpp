#include "serial/contact_conditioning.hpp"

#include <ATen/Functions.h>

namespace cpize::serial {

ContactFeatures ContactFeatures::from(const FeatureSource& features) {
  return {features("contact_conditioning"), features("contact_threshold")};
}

ContactConditioningImpl::ContactConditioningImpl(int64_t token_z, const ContactConditioningOptions& options)
    : options(options),
      encoding_unspecified(register_parameter("encoding_unspecified", at::zeros({token_z}))),
      encoding_unselected(register_parameter("encoding_unselected", at::zeros({token_z}))),
      fourier_embedding(register_module("fourier_embedding", FourierEmbedding(token_z))),
      encoder(register_module("encoder", torch::nn::Linear(token_z + kContactClasses - 1, token_z))) {}

at::Tensor ContactConditioningImpl::forward(const ContactFeatures& f) {
  const auto dtype = encoder->weight.scalar_type();
  const at::Tensor classes = f.contact_conditioning.to(dtype);
  const at::Tensor t = (f.contact_threshold.to(dtype) - options.cutoff_min) / (options.cutoff_max - options.cutoff_min);
  const at::Tensor encoded =
      encoder(at::cat({classes.slice(-1, 2), t.unsqueeze(-1), fourier_embedding(t).to(dtype)}, -1));
  const at::Tensor conditioned = 1 - classes.slice(-1, 0, 2).sum(-1, /*keepdim=*/true);
  return encoded * conditioned + encoding_unspecified * classes.slice(-1, 0, 1) +
         encoding_unselected * classes.slice(-1, 1, 2);
}

}  // namespace cpize::serial
