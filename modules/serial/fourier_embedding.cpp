#include "serial/fourier_embedding.hpp"

#include <ATen/Functions.h>
#include <torch/utils.h>

#include <numbers>

namespace cpize::serial {

FourierEmbeddingImpl::FourierEmbeddingImpl(int64_t dim) : proj(register_module("proj", torch::nn::Linear(1, dim))) {
  torch::NoGradGuard no_grad;
  for (at::Tensor& parameter : proj->parameters()) {
    parameter.normal_();
    parameter.requires_grad_(false);
  }
}

at::Tensor FourierEmbeddingImpl::forward(const at::Tensor& t) {
  return at::cos(2 * std::numbers::pi * proj(t.unsqueeze(-1)));
}

}  // namespace cpize::serial
