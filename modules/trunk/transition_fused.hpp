// The transition through fused GPU kernels (cuda/transition_kernels.hpp): bf16 rows of 128 channels to 128 channels,
// hidden channels a multiple of 32. Everything else, and every build without CUDA, takes the plain path.
//
// Forward reads and writes the rows once. Backward makes the hidden channels again and writes what the gradients of the
// weights need for a sixteenth of the rows at a time.
#pragma once
#include <ATen/core/Tensor.h>

#include <array>

#include "trunk/precision.hpp"

namespace cpize::trunk {

struct TransitionWeights {
  at::Tensor norm, norm_bias, fc1, fc2, fc3;
};

/// Whether the functions below take these rows [R, C], once they are in the operand's dtype.
bool takes_fused_transition(const at::Tensor& rows, const Precision& precision, const TransitionWeights& weights);

/// y [R, C]; with `residual` rows + y; with `overwrite` in the rows' place.
at::Tensor fused_transition_forward(const at::Tensor& rows, const TransitionWeights& weights, bool residual,
                                    bool overwrite);

struct TransitionGradients {
  at::Tensor rows;
  TransitionWeights weights;  // fp32
};
/// Of the rows and all weights; only those that are `wanted` (rows, then weights in their order) are defined.
TransitionGradients fused_transition_backward(const at::Tensor& rows, const TransitionWeights& weights,
                                              const at::Tensor& gradient, bool residual,
                                              const std::array<bool, 6>& wanted);

}  // namespace cpize::trunk
