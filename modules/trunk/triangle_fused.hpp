// The fused path of the triangle multiplication: kernels of our own around the batched products (cuda/). It takes bf16
// activations of 128 channels on a Hopper GPU, on meshes whose cp0 * cp1 is a power of two; everything else takes the
// plain path, which stays the reference that the fused one is proved against.
#pragma once
#include <memory>

#include "trunk/triangle_function.hpp"

namespace cpize::trunk {

/// Null where the fused path does not take this call.
std::shared_ptr<FusedTriangle> make_fused_triangle(const TriangleCall& call, const at::Tensor& rows,
                                                   std::int64_t channel_chunks);

/// As triangle_forward and triangle_backward; call.fused is set.
at::Tensor fused_triangle_forward(TriangleCall& call, const at::Tensor& rows, const at::Tensor& mask,
                                  const TriangleWeights& weights);
TriangleGradients fused_triangle_backward(TriangleCall& call, const at::Tensor& rows, const at::Tensor& mask,
                                          const TriangleWeights& weights, const at::Tensor& gradient,
                                          const std::array<bool, 9>& wanted, bool consume);

}  // namespace cpize::trunk
