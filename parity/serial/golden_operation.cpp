#include "parity/serial/golden_operation.hpp"

#include <map>
#include <regex>
#include <utility>

#include "error/error.hpp"
#include "serial/relative_position_encoder.hpp"
#include "serial/transition.hpp"
#include "serial/triangle_multiplication.hpp"

namespace cpize::parity {
namespace {

using Factory = GoldenOperation (*)(const GoldenCase&, GoldenArguments&);

GoldenOperation transition(const GoldenCase& golden, GoldenArguments& arguments) {
  serial::Transition block(arguments.integer("dim"), arguments.integer("hidden"), arguments.integer_or("out_dim", 0));
  const std::optional<int64_t> chunk_size = arguments.call_integer("chunk_size");
  const bool chunked =
      chunk_size.has_value() && golden.config.at("call").get<std::string>().find("out_chunked") != std::string::npos;
  return {block.ptr(), [block, chunk_size, chunked](GoldenArguments& in) mutable {
            const at::Tensor x = in.input("x");
            safetensors::Tensors out{{"out", block(x)}};
            if (chunked) out["out_chunked"] = block(x, *chunk_size);
            return out;
          }};
}

template <serial::TriangleDirection direction>
GoldenOperation triangle_multiplication(const GoldenCase&, GoldenArguments& arguments) {
  serial::TriangleMultiplication block(arguments.integer("dim"), direction);
  return {block.ptr(), [block](GoldenArguments& in) mutable {
            return safetensors::Tensors{{"out", block(in.input("x"), in.input("mask"))}};
          }};
}

GoldenOperation relative_position(const GoldenCase&, GoldenArguments& arguments) {
  serial::RelativePositionOptions options;
  options.token_z = arguments.integer("token_z");
  options.r_max = arguments.integer_or("r_max", options.r_max);
  options.s_max = arguments.integer_or("s_max", options.s_max);
  options.fix_sym_check = arguments.boolean("fix_sym_check");
  options.cyclic_pos_enc = arguments.boolean("cyclic_pos_enc");
  serial::RelativePositionEncoder block(options);
  return {block.ptr(), [block](GoldenArguments& in) mutable {
            const auto source = [&in](const std::string& name) { return in.input("feats." + name); };
            return safetensors::Tensors{{"p", block(serial::RelativePositionFeatures::from(source))}};
          }};
}

const std::map<std::string, Factory>& operations() {
  using serial::TriangleDirection;
  static const std::map<std::string, Factory> table{
      {"boltz.model.layers.transition.Transition", transition},
      {"boltz.model.layers.triangular_mult.TriangleMultiplicationOutgoing",
       triangle_multiplication<TriangleDirection::outgoing>},
      {"boltz.model.layers.triangular_mult.TriangleMultiplicationIncoming",
       triangle_multiplication<TriangleDirection::incoming>},
      {"boltz.model.modules.encodersv2.RelativePositionEncoder", relative_position},
  };
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

bool GoldenArguments::boolean(const std::string& name) { return init(name).get<bool>(); }

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
