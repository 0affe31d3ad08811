#include "serial/initialisers.hpp"

#include <ATen/Functions.h>
#include <torch/utils.h>

#include <cmath>

namespace cpize::serial {

void lecun_normal_(at::Tensor weight) {
  torch::NoGradGuard no_grad;
  constexpr double kStdOfUnitTruncatedNormal = 0.87962566103423978;  // truncated to [-2, 2]
  const double scale = 1.0 / (std::sqrt(static_cast<double>(weight.size(1))) * kStdOfUnitTruncatedNormal);
  // Inverse transform: for u uniform on (-erf(sqrt 2), erf(sqrt 2)), sqrt 2 * erfinv(u) is a unit normal truncated to
  // [-2, 2].
  const double limit = std::erf(std::sqrt(2.0));
  weight.uniform_(-limit, limit).erfinv_().mul_(std::sqrt(2.0)).clamp_(-2.0, 2.0).mul_(scale);
}

torch::nn::Linear plain_linear(int64_t in, int64_t out) {
  return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(false));
}

torch::nn::Linear lecun_linear(int64_t in, int64_t out) {
  auto layer = plain_linear(in, out);
  lecun_normal_(layer->weight);
  return layer;
}

torch::nn::Linear zero_linear(int64_t in, int64_t out) {
  auto layer = plain_linear(in, out);
  torch::NoGradGuard no_grad;
  layer->weight.zero_();
  return layer;
}

torch::nn::LayerNorm layer_norm(int64_t dim) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({dim}).eps(1e-5));
}

}  // namespace cpize::serial
