// draw_parameters: initial values that are the same on every rank, on every mesh and in a serial run.
//
// torch's own initialisation draws from a global generator: ranks that are threads would each get other values.
#pragma once
#include <torch/nn/module.h>

#include <cstdint>

namespace cpize::lifecycle {

/// Fills in every parameter by its name and the seed, in its own dtype, drawn in fp64: matrices with variance 1 / fan
/// in, other weights around 1, the rest around 0. None is zero or constant. No communication.
void draw_parameters(torch::nn::Module& module, std::uint64_t seed);

}  // namespace cpize::lifecycle
