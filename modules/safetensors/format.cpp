#include "safetensors/format.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "error/error.hpp"

namespace cpize::safetensors::format {
namespace {

using c10::ScalarType;
using nlohmann::ordered_json;

constexpr std::array<std::pair<std::string_view, ScalarType>, 10> kDtypes{{{"F64", ScalarType::Double},
                                                                           {"F32", ScalarType::Float},
                                                                           {"F16", ScalarType::Half},
                                                                           {"BF16", ScalarType::BFloat16},
                                                                           {"I64", ScalarType::Long},
                                                                           {"I32", ScalarType::Int},
                                                                           {"I16", ScalarType::Short},
                                                                           {"I8", ScalarType::Char},
                                                                           {"U8", ScalarType::Byte},
                                                                           {"BOOL", ScalarType::Bool}}};

std::string where(const std::filesystem::path& path, const std::string& field) {
  return path.string() + ", " + (field.empty() ? "header" : field);
}

/// JSON objects may repeat a key and parsers then keep the last value in silence, so repeated keys are caught while
/// parsing.
ordered_json parse_json(const std::filesystem::path& path, std::string_view text) {
  std::vector<std::set<std::string>> open_objects;
  auto watch = [&](int, ordered_json::parse_event_t event, ordered_json& value) {
    if (event == ordered_json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == ordered_json::parse_event_t::object_end) open_objects.pop_back();
    if (event == ordered_json::parse_event_t::key && !open_objects.back().insert(value.get<std::string>()).second) {
      throw InputError(where(path, ""), "key '" + value.get<std::string>() + "' appears twice");
    }
    return true;
  };
  try {
    return ordered_json::parse(text, watch);
  } catch (const ordered_json::exception& error) {
    throw InputError(where(path, ""), std::string("not valid JSON: ") + error.what());
  }
}

std::uint64_t read_size(const ordered_json& value, const std::string& at, const std::string& what) {
  if (!value.is_number_integer() || (value.is_number_integer() && !value.is_number_unsigned())) {
    throw InputError(at, what + " must be a whole number of at least 0, not " + value.dump());
  }
  const auto size = value.get<std::uint64_t>();
  if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    throw InputError(at, what + " " + value.dump() + " is out of range");
  }
  return size;
}

std::uint64_t byte_count(const Entry& entry, const std::string& at) {
  std::uint64_t bytes = c10::elementSize(entry.dtype);
  for (std::int64_t extent : entry.shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) {
      throw InputError(at, "shape is too large for 64-bit sizes");
    }
  }
  return bytes;
}

Entry parse_entry(const std::filesystem::path& path, const std::string& name, const ordered_json& value) {
  const std::string at = where(path, name);
  if (!value.is_object()) throw InputError(at, "expected an object, found " + std::string(value.type_name()));
  for (const auto& [key, unused] : value.items()) {
    if (key != "dtype" && key != "shape" && key != "data_offsets") throw InputError(at, "unknown key '" + key + "'");
  }
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!value.contains(key)) throw InputError(at, std::string("key '") + key + "' is missing");
  }
  Entry entry;
  entry.name = name;
  const auto& dtype = value.at("dtype");
  const auto known = dtype.is_string() ? dtype_from_name(dtype.get_ref<const std::string&>()) : std::nullopt;
  if (!known) {
    throw InputError(at, "unknown dtype " + dtype.dump() + "; known: F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL");
  }
  entry.dtype = *known;
  if (!value.at("shape").is_array()) throw InputError(at, "shape must be an array");
  for (const auto& extent : value.at("shape")) {
    entry.shape.push_back(static_cast<std::int64_t>(read_size(extent, at, "extent of shape")));
  }
  const auto& offsets = value.at("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) throw InputError(at, "data_offsets must be [begin, end]");
  entry.begin = read_size(offsets[0], at, "data_offsets begin");
  entry.end = read_size(offsets[1], at, "data_offsets end");
  if (entry.end < entry.begin) throw InputError(at, "data_offsets " + offsets.dump() + " end before they begin");
  const std::uint64_t expected = byte_count(entry, at);
  if (entry.end - entry.begin != expected) {
    throw InputError(at, "shape " + value.at("shape").dump() + " of " + dtype.dump() + " needs " +
                             std::to_string(expected) + " bytes, data_offsets " + offsets.dump() + " give " +
                             std::to_string(entry.end - entry.begin));
  }
  return entry;
}

std::map<std::string, std::string> parse_metadata(const std::filesystem::path& path, const ordered_json& value) {
  const std::string at = where(path, std::string(kMetadataKey));
  if (!value.is_object()) throw InputError(at, "expected an object, found " + std::string(value.type_name()));
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) throw InputError(at, "value of '" + key + "' must be text");
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

/// Every byte of the data belongs to exactly one tensor.
void check_tiling(const std::filesystem::path& path, const std::vector<Entry>& entries, std::uint64_t data_bytes) {
  std::uint64_t cursor = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != cursor) {
      throw InputError(where(path, entry.name),
                       std::string("data ") + (entry.begin < cursor ? "overlaps" : "leaves a hole after") +
                           " the tensor before it: begins at byte " + std::to_string(entry.begin) + ", expected " +
                           std::to_string(cursor));
    }
    cursor = entry.end;
  }
  if (cursor > data_bytes) {
    throw InputError(where(path, entries.back().name), "file is truncated: data end at byte " + std::to_string(cursor) +
                                                           ", the file holds " + std::to_string(data_bytes));
  }
  if (cursor < data_bytes) {
    throw InputError(where(path, ""),
                     std::to_string(data_bytes - cursor) + " bytes behind the last tensor belong to none");
  }
}

}  // namespace

std::optional<ScalarType> dtype_from_name(std::string_view name) {
  for (const auto& [known, dtype] : kDtypes) {
    if (known == name) return dtype;
  }
  return std::nullopt;
}

std::string_view dtype_name(ScalarType dtype) {
  for (const auto& [name, known] : kDtypes) {
    if (known == dtype) return name;
  }
  return {};
}

Header parse(const std::filesystem::path& path, std::string_view text, std::uint64_t data_bytes) {
  const ordered_json json = parse_json(path, text);
  if (!json.is_object())
    throw InputError(where(path, ""), "expected an object, found " + std::string(json.type_name()));
  Header header;
  for (const auto& [name, value] : json.items()) {
    if (name == kMetadataKey) {
      header.metadata = parse_metadata(path, value);
    } else {
      header.entries.push_back(parse_entry(path, name, value));
    }
  }
  // An empty tensor may share its offset with the tensor behind it, so the end decides between equal begins.
  std::sort(header.entries.begin(), header.entries.end(),
            [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  check_tiling(path, header.entries, data_bytes);
  return header;
}

std::string serialize(const std::vector<Entry>& entries, const std::map<std::string, std::string>& metadata) {
  ordered_json json = ordered_json::object();
  if (!metadata.empty()) json[std::string(kMetadataKey)] = metadata;
  for (const Entry& entry : entries) {
    json[entry.name] = {
        {"dtype", dtype_name(entry.dtype)}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text;
  try {
    text = json.dump();
  } catch (const ordered_json::exception& error) {
    throw ContractError(std::string("safetensors names and metadata must be UTF-8: ") + error.what());
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace cpize::safetensors::format
