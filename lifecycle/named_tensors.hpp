// Named tensors of a module: what is trained, what is saved, and how a file's tensors are matched with a model's.
#pragma once
#include <torch/nn/module.h>

#include <string>
#include <utility>
#include <vector>

#include "safetensors/safetensors.hpp"

namespace cpize::lifecycle {

using safetensors::Tensors;

/// In the order of registration, which is the same on every rank.
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// Parameters, then buffers: what a state dict holds. A tensor that is registered under two names is there twice.
NamedTensors state_of(const torch::nn::Module& module);

/// Parameters that require a gradient, each once (under its first name): what the reducer and the optimizer must see.
NamedTensors trainable_parameters(const torch::nn::Module& module);

/// The tensors alone, in order.
std::vector<at::Tensor> tensors_of(const NamedTensors& named);
/// Detached, sharing memory, keyed by name. ContractError where a name comes twice.
Tensors by_name(const NamedTensors& named);

/// May a file's floating-point tensor have another floating-point dtype than the model's?
enum class DtypeRule { same, convert };

/// How the names, shapes and dtypes of a file differ from those of a model.
struct NameDifferences {
  std::vector<std::string> missing;     // the model has it, the file does not
  std::vector<std::string> unexpected;  // the file has it, the model does not
  std::vector<std::string> mismatched;  // "<name>: Float [3, 4] in the file, Double [3, 4] in the model"

  bool empty() const { return missing.empty() && unexpected.empty() && mismatched.empty(); }
  /// All of it in one line; empty when there is none.
  std::string str() const;
};

NameDifferences compare_names(const NamedTensors& model, const Tensors& file, DtypeRule rule);

/// Copies into the model what the file has, in place. Names that only one of them has are left alone.
void assign(const NamedTensors& model, const Tensors& file);

/// Loads a plain state dict (a safetensors file, of Boltz-2 say) into a module that may be a part of that model:
/// tensors that only one of them has are returned, floating-point dtypes are converted to the module's. InputError, and
/// nothing is changed, where a shape differs (another architecture) or where not one name is common.
NameDifferences load_state_dict(const torch::nn::Module& module, const std::filesystem::path& file);

}  // namespace cpize::lifecycle
