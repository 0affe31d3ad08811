#include "trunk/cuda/weight_sums.hpp"

#include <ATen/ATen.h>

#include "trunk/cuda/channel_order.hpp"

namespace cpize::trunk::cuda {

void add_weight_sum(const at::Tensor& total, const at::Tensor& gradients, const at::Tensor& normed) {
  // One product over all rows would keep few multiprocessors busy: many partial ones, then their sum.
  const std::int64_t rows = gradients.size(0);
  std::int64_t parts = 64;
  while (parts > 1 && (rows % parts != 0 || rows / parts < 256)) parts /= 2;
  const at::Tensor partial = at::bmm(gradients.view({parts, rows / parts, -1}).transpose(1, 2),
                                     normed.view({parts, rows / parts, -1}), at::kFloat);
  at::Tensor sum = total;
  sum.add_(partial.sum(0));
}

at::Tensor gradients_of(const at::Tensor& sum, const at::Tensor& projection, const at::Tensor& weight,
                        const at::Tensor& bias, at::Tensor norm_weight, at::Tensor norm_bias) {
  const std::int64_t channels = weight.size(0);
  const at::Tensor products = sum.narrow(1, 0, channels), ones = sum.narrow(1, channels, 1);
  if (norm_weight.defined()) norm_weight.add_((projection * products).sum(0));
  if (norm_bias.defined()) norm_bias.add_((projection * ones).sum(0));
  return products * weight + ones * bias;
}

at::Tensor channel_positions(std::int64_t channels, std::int64_t stride, std::int64_t offset, at::Device device) {
  at::Tensor at = at::empty({channels}, at::kLong);
  auto* p = at.data_ptr<std::int64_t>();
  for (std::int64_t c = 0; c < channels; ++c) p[c] = c / 32 * stride + channel_of(static_cast<int>(c % 32)) + offset;
  return at.to(device);
}

}  // namespace cpize::trunk::cuda
