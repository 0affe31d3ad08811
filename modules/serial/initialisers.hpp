// How fresh weights of the reference model are drawn, and the layers that use it. In place, from torch's default
// generator.
#pragma once
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

namespace cpize::serial {

/// Truncated normal on two standard deviations of the untruncated law, scaled so that the result has variance 1 /
/// fan_in.
void lecun_normal_(at::Tensor weight);

/// Linear layer without bias, weight [out, in], lecun initialised.
torch::nn::Linear lecun_linear(int64_t in, int64_t out);

/// Linear layer without bias that starts as the zero map: the last projection of a residual branch ("final") and gates
/// ("gating").
torch::nn::Linear zero_linear(int64_t in, int64_t out);

/// Linear layer without bias, torch's own initialisation (Kaiming uniform, a = sqrt 5).
torch::nn::Linear plain_linear(int64_t in, int64_t out);

/// Affine LayerNorm over the last dimension, epsilon 1e-5.
torch::nn::LayerNorm layer_norm(int64_t dim);

}  // namespace cpize::serial
