#include "trunk/cuda/weight_sums.hpp"

#include <ATen/ATen.h>

namespace cpize::trunk::cuda {

at::Tensor gradients_of(const at::Tensor& sum, const at::Tensor& projection, const at::Tensor& weight,
                        const at::Tensor& bias, at::Tensor norm_weight, at::Tensor norm_bias) {
  const std::int64_t channels = weight.size(0);
  const at::Tensor products = sum.narrow(1, 0, channels), ones = sum.narrow(1, channels, 1);
  if (norm_weight.defined()) norm_weight.add_((projection * products).sum(0));
  if (norm_bias.defined()) norm_bias.add_((projection * ones).sum(0));
  return products * weight + ones * bias;
}

at::Tensor channel_positions(std::int64_t channels, std::int64_t stride, std::int64_t offset, at::Device device) {
  // Made on the device, since a copy from the host would wait for everything that is under way: c = 32 m + 8 b + 2 t +
  // e lies at stride m + 8 t + 2 b + e + offset, the formula of channel_of.
  const auto range = [&](std::int64_t end) { return at::arange(end, at::TensorOptions(at::kLong).device(device)); };
  const at::Tensor m = range(channels / 32).view({-1, 1, 1, 1}), b = range(4).view({4, 1, 1}),
                   t = range(4).view({4, 1});
  return (m * stride + t * 8 + b * 2 + range(2) + offset).reshape({-1});
}

}  // namespace cpize::trunk::cuda
