#include "trunk/input/contact_conditioning.hpp"

#include <ATen/ATen.h>

#include "error/error.hpp"
#include "trunk/precision.hpp"

namespace cpize::trunk {
namespace {

/// What a panel's features are made of: shards without gradient, and the frozen projection.
struct Source {
  ContactConditioningOptions options;
  FourierEmbedding fourier;
  at::Tensor classes, threshold;
  at::ScalarType dtype;

  at::Tensor normalised(const PairRows& rows) const {
    return (rows.of(threshold).to(dtype) - options.cutoff_min) / (options.cutoff_max - options.cutoff_min);
  }
  /// 1 - (c0 + c1), [pairs, 1].
  static at::Tensor conditioned(const at::Tensor& c) { return 1 - c.narrow(-1, 0, 2).sum(-1, /*keepdim=*/true); }

  at::Tensor features(const PairRows& rows) const {
    const at::Tensor c = rows.of(classes).to(dtype), t = normalised(rows), g = conditioned(c);
    at::Tensor all = at::empty({c.size(0), fourier->proj->weight.size(0) + 7}, c.options());
    const std::int64_t waves = all.size(1) - 7;
    all.narrow(1, 0, 3).copy_(c.narrow(-1, 2, 3));
    all.select(1, 3).copy_(t);
    all.narrow(1, 4, waves).copy_(fourier->forward_local(t));
    all.select(1, 4 + waves).fill_(1);
    all.narrow(1, 0, 5 + waves).mul_(g);
    all.narrow(1, 5 + waves, 2).copy_(c.narrow(-1, 0, 2));
    return all;
  }

  /// From the gradient of the features [pairs, token_z + 7] to that of the threshold [pairs].
  at::Tensor threshold_gradient(const PairRows& rows, const at::Tensor& gradient) const {
    const at::Tensor g = conditioned(rows.of(classes).to(dtype)).squeeze(-1);
    const at::Tensor waves = fourier->backward_local(normalised(rows), gradient.narrow(1, 4, gradient.size(1) - 7));
    return (gradient.select(1, 3) + waves) * g / (options.cutoff_max - options.cutoff_min);
  }
};

}  // namespace

ContactConditioningImpl::ContactConditioningImpl(std::int64_t token_z, const ContactConditioningOptions& options)
    : options(options),
      encoding_unspecified(register_parameter("encoding_unspecified", at::zeros({token_z}))),
      encoding_unselected(register_parameter("encoding_unselected", at::zeros({token_z}))),
      fourier_embedding(register_module("fourier_embedding", FourierEmbedding(token_z))),
      encoder(register_module("encoder", BiasedProjection(token_z + kClasses - 1, token_z))) {}

PairMap ContactConditioningImpl::map(const ContactFeatures& f) const {
  const Shape& pairs = f.contact_threshold.global();
  if (pairs.size() != 3 || pairs[1] != pairs[2] ||
      f.contact_conditioning.global() != Shape{pairs[0], pairs[1], pairs[2], kClasses})
    throw ContractError("contact conditioning takes classes [B,N,N,5] and a threshold [B,N,N] of one B and N");
  const at::Tensor& threshold = f.contact_threshold.local();
  const Source source{options, fourier_embedding, f.contact_conditioning.local().detach(), threshold.detach(),
                      at::promote_types(encoder->weight.scalar_type(), at::kFloat)};
  PairMap map;
  map.weight = at::cat({encoder->weight.t(), at::stack({encoder->bias, encoding_unspecified, encoding_unselected})});
  map.features = [source](const PairRows& rows) { return source.features(rows); };
  if (threshold.requires_grad()) {
    map.source = threshold;
    map.source_gradient = [source](const PairRows& rows, const at::Tensor& gradient) {
      return source.threshold_gradient(rows, gradient);
    };
  }
  return map;
}

Sharded<Pair> ContactConditioningImpl::forward(const ContactFeatures& f) {
  PairTerms terms;
  terms.maps.push_back(map(f));
  const at::Tensor &weight = encoder->weight, &local = f.contact_threshold.local();
  return f.contact_threshold.with(assemble_pairs(terms, local.size(0), local.size(1), local.size(2),
                                                 weight.options().dtype(Precision::of(weight).operand)));
}

}  // namespace cpize::trunk
