// The operations that golden cases can run: from a published module path to a serial block and its call.
#pragma once
#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "parity/serial/golden_case.hpp"

namespace cpize::parity {

/// The constructor arguments and the inputs of a case. Each look-up is recorded: an argument or input that the
/// operation never asked for is one that it ignores, which the check reports.
class GoldenArguments {
 public:
  GoldenArguments(const GoldenCase& golden, safetensors::Tensors inputs);

  int64_t integer(const std::string& name);
  /// Absent or null: `otherwise`.
  int64_t integer_or(const std::string& name, int64_t otherwise);
  double number(const std::string& name);
  bool boolean(const std::string& name);
  /// Absent or null: `otherwise`.
  bool boolean_or(const std::string& name, bool otherwise);
  /// The tensor "in.<name>".
  at::Tensor input(const std::string& name);
  /// N of "<name>=N" in the description of the call; empty if it is not mentioned.
  std::optional<int64_t> call_integer(const std::string& name) const;
  /// The names that were never asked for.
  std::set<std::string> ignored() const;

 private:
  const nlohmann::ordered_json& init(const std::string& name);

  const GoldenCase& golden_;
  safetensors::Tensors inputs_;
  std::set<std::string> asked_;
};

/// A serial block and how a case calls it; outputs are named as in the file, without "out.".
struct GoldenOperation {
  std::shared_ptr<torch::nn::Module> module;
  std::function<safetensors::Tensors(GoldenArguments&)> call;
};

bool knows_operation(const std::string& module_path);

/// Throws NotImplemented for an unknown path.
GoldenOperation make_operation(const GoldenCase& golden, GoldenArguments& arguments);

}  // namespace cpize::parity
