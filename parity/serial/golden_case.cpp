#include "parity/serial/golden_case.hpp"

#include <fstream>
#include <sstream>

#include "cmake/tool/src/sha256.hpp"
#include "error/error.hpp"

namespace cpize::parity {
namespace {

using nlohmann::ordered_json;

std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw InputError(path.string(), "cannot be opened");
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::set<std::string> names(const ordered_json& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() ? std::set<std::string>{} : found->get<std::set<std::string>>();
}

GoldenCase parse_case(const std::filesystem::path& directory, const ordered_json& json) {
  GoldenCase golden;
  golden.name = json.at("case").get<std::string>();
  golden.file = directory / json.at("file").get<std::string>();
  golden.bytes = json.at("bytes").get<std::uint64_t>();
  golden.sha256 = json.at("sha256").get<std::string>();
  golden.module = json.at("module").get<std::string>();
  golden.config = json.at("config");
  for (const auto& [name, unused] : json.at("params").items()) golden.parameters.push_back(name);
  golden.rounding_only = names(json.at("stats"), "param_grad_tensors_rounding_only");
  return golden;
}

}  // namespace

std::set<std::string> GoldenCase::config_names(const std::string& key) const { return names(config, key); }

std::vector<GoldenCase> read_golden_index(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "index.json";
  std::vector<GoldenCase> cases;
  std::set<std::string> seen;
  try {
    const ordered_json index = ordered_json::parse(read_bytes(path));
    for (const auto& entry : index.at("cases")) {
      cases.push_back(parse_case(directory, entry));
      if (!seen.insert(cases.back().name).second)
        throw InputError(path.string(), "case " + cases.back().name + " is listed twice");
    }
  } catch (const ordered_json::exception& error) {
    throw InputError(path.string() + ", case " + std::to_string(cases.size() + 1), error.what());
  }
  return cases;
}

safetensors::File read_golden_file(const GoldenCase& golden) {
  const std::string bytes = read_bytes(golden.file);
  if (bytes.size() != golden.bytes) {
    throw InputError(golden.file.string(), "holds " + std::to_string(bytes.size()) + " bytes, the index says " +
                                               std::to_string(golden.bytes));
  }
  const std::string hash = tool::sha256(bytes);
  if (hash != golden.sha256) {
    throw InputError(golden.file.string(), "SHA-256 is " + hash + ", the index says " + golden.sha256);
  }
  return safetensors::read(golden.file);
}

}  // namespace cpize::parity
