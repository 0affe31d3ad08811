#include "parity/serial/golden_operation.hpp"

#include <map>
#include <regex>
#include <utility>

#include "error/error.hpp"
#include "parity/serial/operations/operations.hpp"

namespace cpize::parity {
namespace {

const GoldenOperations& operations() {
  static const GoldenOperations table = [] {
    GoldenOperations all;
    for (const auto& area : {pair_operations(), pairformer_operations(), msa_operations(), input_operations(),
                             head_operations(), template_operations()})
      all.insert(area.begin(), area.end());
    return all;
  }();
  return table;
}

}  // namespace

GoldenArguments::GoldenArguments(const GoldenCase& golden, safetensors::Tensors inputs)
    : golden_(golden), inputs_(std::move(inputs)) {}

const nlohmann::ordered_json& GoldenArguments::init(const std::string& name) {
  static const nlohmann::ordered_json absent;
  asked_.insert("init." + name);
  const auto& init = golden_.config.at("init");
  const auto found = init.find(name);
  return found == init.end() ? absent : *found;
}

int64_t GoldenArguments::integer(const std::string& name) { return init(name).get<int64_t>(); }

int64_t GoldenArguments::integer_or(const std::string& name, int64_t otherwise) {
  const auto& value = init(name);
  return value.is_null() ? otherwise : value.get<int64_t>();
}

double GoldenArguments::number(const std::string& name) { return init(name).get<double>(); }

bool GoldenArguments::boolean(const std::string& name) { return init(name).get<bool>(); }

bool GoldenArguments::boolean_or(const std::string& name, bool otherwise) {
  const auto& value = init(name);
  return value.is_null() ? otherwise : value.get<bool>();
}

at::Tensor GoldenArguments::input(const std::string& name) {
  const auto found = inputs_.find("in." + name);
  if (found == inputs_.end())
    throw InputError(golden_.file.string() + ", in." + name, "the operation needs this input");
  asked_.insert(found->first);
  return found->second;
}

std::optional<int64_t> GoldenArguments::call_integer(const std::string& name) const {
  const std::string call = golden_.config.at("call").get<std::string>();
  std::smatch match;
  if (!std::regex_search(call, match, std::regex("\\b" + name + "\\s*=\\s*(\\d+)"))) return std::nullopt;
  return std::stoll(match[1]);
}

std::set<std::string> GoldenArguments::ignored() const {
  std::set<std::string> given;
  for (const auto& [name, unused] : inputs_) given.insert(name);
  for (const auto& [name, unused] : golden_.config.at("init").items()) given.insert("init." + name);
  for (const std::string& name : asked_) given.erase(name);
  return given;
}

bool knows_operation(const std::string& module_path) { return operations().contains(module_path); }

GoldenOperation make_operation(const GoldenCase& golden, GoldenArguments& arguments) {
  const auto found = operations().find(golden.module);
  if (found == operations().end()) throw NotImplemented("no serial block for " + golden.module);
  return found->second(golden, arguments);
}

}  // namespace cpize::parity
