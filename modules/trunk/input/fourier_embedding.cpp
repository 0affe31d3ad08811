#include "trunk/input/fourier_embedding.hpp"

#include <ATen/ATen.h>

#include <numbers>

#include "trunk/precision.hpp"

namespace cpize::trunk {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

}  // namespace

FourierEmbeddingImpl::FourierEmbeddingImpl(std::int64_t dim) : proj(register_module("proj", BiasedProjection(1, dim))) {
  for (at::Tensor& parameter : proj->parameters()) parameter.requires_grad_(false);
}

at::Tensor FourierEmbeddingImpl::angle(const at::Tensor& t) const {
  const auto dtype = at::promote_types(t.scalar_type(), proj->weight.scalar_type());
  return (t.to(dtype).unsqueeze(-1) * proj->weight.squeeze(-1).to(dtype)).add_(proj->bias.to(dtype)).mul_(kTurn);
}

at::Tensor FourierEmbeddingImpl::forward_local(const at::Tensor& t) const {
  const NoAutocast no_autocast(t);
  return at::cos(angle(t));
}

at::Tensor FourierEmbeddingImpl::backward_local(const at::Tensor& t, const at::Tensor& dy) const {
  const NoAutocast no_autocast(t);
  const at::Tensor sine = angle(t).sin_();
  return at::matmul(sine.mul_(dy), proj->weight.squeeze(-1).to(sine.scalar_type())).mul_(-kTurn);
}

}  // namespace cpize::trunk
