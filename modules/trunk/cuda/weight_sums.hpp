// Weight sums: the gradients of projections and norms from the operands that the fused backward kernels write.
//
// With X = sum over positions of g^T [n, 1], g the gradients at a projection's result and n the standardised input:
//   gradient of W = X w + x b^T,  of the norm's weight w: sum_k W X,  of its bias b: W^T x      (x: X's last column)
// so neither the normalised input nor per-channel sums are ever needed. X itself is add_weight_gradient(X, g, [n, 1])
// (row_panels.hpp), with X [M, 136] fp32 and g [rows, M], [n, 1, 0 ..] [rows, 136] bf16.
#pragma once
#include <ATen/core/Tensor.h>

namespace cpize::trunk::cuda {

/// All fp32. Adds the norm's share to norm_weight and norm_bias (undefined: not wanted); returns the gradient of W.
at::Tensor gradients_of(const at::Tensor& sum, const at::Tensor& projection, const at::Tensor& weight,
                        const at::Tensor& bias, at::Tensor norm_weight, at::Tensor norm_bias);

/// Position in which a kernel's output holds channel i of 32 m + .. : the inverse map of channel_of is a gather by it.
at::Tensor channel_positions(std::int64_t channels, std::int64_t stride, std::int64_t offset, at::Device device);

}  // namespace cpize::trunk::cuda
