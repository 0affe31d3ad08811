// A golden case: one entry of a golden set's index.json, and the verified tensors of its file.
#pragma once
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "safetensors/safetensors.hpp"

namespace cpize::parity {

struct GoldenCase {
  std::string name;
  std::filesystem::path file;
  std::uint64_t bytes = 0;
  std::string sha256;
  std::string module;  // published path of the operation
  nlohmann::ordered_json config;
  std::vector<std::string> parameters;  // state_dict entries in the published order, buffers included
  std::set<std::string> rounding_only;  // "gparam.<name>" of gradients that are zero in exact arithmetic

  /// A list of names in the config; empty if absent.
  std::set<std::string> config_names(const std::string& key) const;
};

/// The cases that `directory`/index.json lists, in its order. Throws InputError.
std::vector<GoldenCase> read_golden_index(const std::filesystem::path& directory);

/// Reads the case's file; refuses (InputError) one whose size or SHA-256 is not what the index says.
safetensors::File read_golden_file(const GoldenCase& golden);

}  // namespace cpize::parity
