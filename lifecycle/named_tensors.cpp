#include "lifecycle/named_tensors.hpp"

#include <ATen/ATen.h>

#include <set>
#include <sstream>

#include "error/error.hpp"

namespace cpize::lifecycle {
namespace {

std::string describe(const at::Tensor& x) {
  std::ostringstream text;
  text << c10::toString(x.scalar_type()) << " " << x.sizes();
  return text.str();
}

bool same_dtype(const at::Tensor& model, const at::Tensor& file, DtypeRule rule) {
  if (model.scalar_type() == file.scalar_type()) return true;
  return rule == DtypeRule::convert && model.is_floating_point() && file.is_floating_point();
}

void append(std::string& text, const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return;
  text += (text.empty() ? "" : "; ") + std::to_string(names.size()) + " " + what + ":";
  for (const auto& name : names) text += " " + name + (&name == &names.back() ? "" : ",");
}

}  // namespace

NamedTensors state_of(const torch::nn::Module& module) {
  NamedTensors state;
  for (const auto& item : module.named_parameters()) state.emplace_back(item.key(), item.value());
  for (const auto& item : module.named_buffers()) state.emplace_back(item.key(), item.value());
  return state;
}

NamedTensors trainable_parameters(const torch::nn::Module& module) {
  NamedTensors trainable;
  std::set<const void*> seen;
  for (const auto& item : module.named_parameters())
    if (item.value().requires_grad() && seen.insert(item.value().unsafeGetTensorImpl()).second)
      trainable.emplace_back(item.key(), item.value());
  return trainable;
}

std::vector<at::Tensor> tensors_of(const NamedTensors& named) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(named.size());
  for (const auto& [name, tensor] : named) tensors.push_back(tensor);
  return tensors;
}

Tensors by_name(const NamedTensors& named) {
  Tensors tensors;
  for (const auto& [name, tensor] : named)
    if (!tensors.emplace(name, tensor.detach()).second) throw ContractError("two tensors are named '" + name + "'");
  return tensors;
}

std::string NameDifferences::str() const {
  std::string text;
  append(text, "missing", missing);
  append(text, "unexpected", unexpected);
  append(text, "of another shape or dtype", mismatched);
  return text;
}

NameDifferences compare_names(const NamedTensors& model, const Tensors& file, DtypeRule rule) {
  NameDifferences differences;
  std::set<std::string> known;
  for (const auto& [name, tensor] : model) {
    known.insert(name);
    const auto found = file.find(name);
    if (found == file.end())
      differences.missing.push_back(name);
    else if (found->second.sizes() != tensor.sizes() || !same_dtype(tensor, found->second, rule))
      differences.mismatched.push_back(name + ": " + describe(found->second) + " in the file, " + describe(tensor) +
                                       " in the model");
  }
  for (const auto& [name, tensor] : file)
    if (!known.contains(name)) differences.unexpected.push_back(name);
  return differences;
}

void assign(const NamedTensors& model, const Tensors& file) {
  at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : model) {
    const auto found = file.find(name);
    if (found != file.end()) at::Tensor(tensor).copy_(found->second);
  }
}

NameDifferences load_state_dict(const torch::nn::Module& module, const std::filesystem::path& file) {
  const Tensors tensors = safetensors::read(file).tensors;
  const NamedTensors state = state_of(module);
  NameDifferences differences = compare_names(state, tensors, DtypeRule::convert);
  if (!differences.mismatched.empty())
    throw InputError(file.string(), "belongs to another architecture: " + differences.str());
  if (differences.missing.size() == state.size())
    throw InputError(file.string(), "has none of the model's tensors: " + differences.str());
  assign(state, tensors);
  return differences;
}

}  // namespace cpize::lifecycle
