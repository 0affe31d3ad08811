// Fused kernels of the transition for Hopper GPUs: bf16 rows of 128 channels, fp32 sums. Launchers, no torch.
//
//   y = fc3(silu(fc1 n) * fc2 n),  n = norm(x)         math and names: transition.hpp
//
// One pass over memory: hidden channels are made 32 at a time in registers and multiplied on at once, and the weights
// of 32 hidden channels are a slice of the weight image that passes through shared memory (weight_ring.cuh). `hidden`
// is a multiple of 32. All pointers are device memory, rows aligned to 16 bytes; work runs on `stream` (a
// cudaStream_t).
#pragma once
#include <cstdint>

#include "trunk/cuda/triangle_kernels.hpp"

namespace cpize::trunk::cuda {

inline constexpr int kTransitionSliceHidden = 32, kTransitionSliceBytes = 3 * kTransitionSliceHidden * 256;

/// fc1, fc2 [hidden, 128], fc3 [128, hidden], bf16, contiguous -> `image` (hidden / 32 slices), of which forward and
/// backward each take their own.
void prepare_transition_weights(const void* fc1, const void* fc2, const void* fc3, int hidden, bool backward,
                                void* image, void* stream);

/// rows [count, 128] -> y [count, 128]; with `residual` rows + y, which may then lie in the rows' place.
void transition_forward(const void* rows, const void* image, const TriangleNorm& norm, int hidden, bool residual,
                        void* y, std::int64_t count, void* stream);

/// Operands of weight sums (weight_sums.hpp), with room for a multiple of 64 rows.
struct TransitionOperands {
  void* duv;  // [count, 2 hidden]: per 32 hidden channels the gradients at fc1, then at fc2, each in order channel_of
  void* h;    // [count, hidden]: silu(fc1 n) * fc2 n, each 32 in order channel_of
  void* normed;  // [count, 136]: standardised rows, extended
};
/// dy -> dx [count, 128]; with `residual` the gradient of rows + y.
void transition_backward(const void* dy, const void* rows, const void* image, const TriangleNorm& norm, int hidden,
                         bool residual, void* dx, const TransitionOperands& operands, std::int64_t count, void* stream);

}  // namespace cpize::trunk::cuda
