// Parameters: random values for the serial block, copied by name into every rank's port.
#pragma once
#include <c10/core/TensorOptions.h>
#include <torch/nn/module.h>

#include <map>
#include <string>
#include <vector>

namespace cpize::parity {

using NamedParameters = std::vector<std::pair<std::string, at::Tensor>>;

/// In the order of registration; empty for a null module.
NamedParameters parameters_of(const torch::nn::Module* module);

/// Moves the module to fp64 and adds noise to every parameter: standard normal over sqrt(fan in) for matrices, times
/// 0.3 for vectors; all of it times `strength`. So nothing stays zero, or one, that was initialised to it. Returns how
/// many were constant before.
int perturb(torch::nn::Module& module, const std::string& seed, double strength = 1);

/// The names of parameters that are all zero, or (with more than one element) all equal.
std::vector<std::string> constant_parameters(const torch::nn::Module* module);

/// Rounds every parameter to `dtype`, and keeps it in its own.
void round_parameters(torch::nn::Module& module, at::ScalarType dtype);

/// Gives the port the values of the serial block, in `options` (dtype, device; fp64). ContractError naming the missing
/// and the unexpected parameters where the names differ, or the shapes. Buffers that both have are copied, too.
void copy_parameters(const torch::nn::Module* serial, torch::nn::Module* port, const std::string& block,
                     const c10::TensorOptions& options = c10::TensorOptions(c10::kDouble));

}  // namespace cpize::parity
