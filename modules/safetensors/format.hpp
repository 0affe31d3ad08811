// The safetensors header as values: dtype names, entries with their byte ranges, parsing and checking. Internal to this
// folder.
#pragma once
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cpize::safetensors::format {

inline constexpr std::uint64_t kLengthBytes = 8;             // the header's length, in front of it
inline constexpr std::uint64_t kMaxHeaderBytes = 100000000;  // the published limit; a longer header is garbage
inline constexpr std::string_view kMetadataKey = "__metadata__";

struct Entry {
  std::string name;
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  // bytes from the end of the header
  std::uint64_t end = 0;
};

struct Header {
  std::vector<Entry> entries;  // in the order of their data
  std::map<std::string, std::string> metadata;
};

std::optional<c10::ScalarType> dtype_from_name(std::string_view name);

/// Empty for a dtype that the format (or this reader) does not know.
std::string_view dtype_name(c10::ScalarType dtype);

/// Parses and checks a header. `data_bytes`: what the file holds behind it. Throws InputError (see safetensors.hpp).
Header parse(const std::filesystem::path& path, std::string_view text, std::uint64_t data_bytes);

/// The JSON header of `entries` (in their order), padded with spaces so that the data starts at a multiple of 8.
std::string serialize(const std::vector<Entry>& entries, const std::map<std::string, std::string>& metadata);

}  // namespace cpize::safetensors::format
