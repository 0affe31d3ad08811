// The bias of token attention from z through GPU kernels (cuda/pair_bias_kernels.hpp): bf16 pairs of 128
// channels, at most 16 heads. One pass over z forward, one backward, in fp32 arithmetic; by head, so that scores are
// added in place. Everything else, and every build without CUDA, takes the plain path (BiasPanel).
#pragma once
#include "trunk/pairformer/pair_bias_function.hpp"

namespace cpize::trunk {

bool takes_fused_bias(const PairBiasCall& call, const at::Tensor& z, const PairBiasWeights& weights);

/// z [rows, m, c_z], excluded [m] bool -> bias [H, rows, m] fp32, kExcludedLogit at excluded keys.
at::Tensor fused_bias(const at::Tensor& z, const PairBiasWeights& weights, const at::Tensor& excluded);

/// dbias [H, rows, m] fp32 -> the gradient of z, written to dz [rows, m, c_z] where that is defined. Returns what the
/// gradients of the weights are made of: add those of all panels.
at::Tensor fused_bias_backward(const at::Tensor& dbias, const at::Tensor& z, const PairBiasWeights& weights,
                               const at::Tensor& dz);
/// Adds the gradients of norm, norm_bias and bias to the totals that are defined.
void add_fused_bias_gradients(const at::Tensor& sum, const PairBiasWeights& weights, const PairBiasWeights& totals);

}  // namespace cpize::trunk
