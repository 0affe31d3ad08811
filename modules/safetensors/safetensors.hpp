// Named tensors in one file: reads and writes the safetensors format (as Python's `safetensors` does), strictly and
// atomically.
//
// File layout: 8 bytes little-endian length of the header, a JSON header, then raw little-endian data. The header maps
// a tensor's name to {"dtype", "shape", "data_offsets": [begin, end]} (bytes from the end of the header) and
// "__metadata__" to text pairs. Dtypes: F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL. Sizes are 64-bit throughout. Tensors
// are read into CPU memory, contiguous.
#pragma once
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>

namespace cpize::safetensors {

using Tensors = std::map<std::string, at::Tensor>;
using Metadata = std::map<std::string, std::string>;

struct File {
  Tensors tensors;
  Metadata metadata;
};

/// Reads a whole file. Throws InputError, naming the file and the field, when the file cannot be opened, is shorter or
/// longer than its header says, or when the header is no valid JSON, names a tensor twice, holds an unknown key or
/// dtype, a shape that does not match its bytes, offsets that overlap or leave a hole, or a BOOL byte other than 0
/// and 1.
File read(const std::filesystem::path& path);

/// Reads one tensor by name, without reading the others. The header is checked as in `read`; an absent name is an
/// InputError.
at::Tensor read_tensor(const std::filesystem::path& path, const std::string& name);

/// The text pairs alone; no tensor data is read.
Metadata read_metadata(const std::filesystem::path& path);

/// Writes `tensors` (any device, any strides) and `metadata`. The same content gives the same bytes: wider dtypes
/// first, then by name. Atomic: a temporary file beside `path` is written, synced and renamed over it, so a reader or a
/// crash at any moment sees the old file or the new one. Throws ContractError for an undefined or sparse tensor,
/// another dtype or a name that is not UTF-8, and ResourceError, with the system's reason, when the file cannot be
/// written.
void write(const std::filesystem::path& path, const Tensors& tensors, const Metadata& metadata = {});

}  // namespace cpize::safetensors
