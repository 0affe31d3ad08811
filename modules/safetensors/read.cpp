#include <ATen/Functions.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <fstream>

#include "error/error.hpp"
#include "safetensors/format.hpp"
#include "safetensors/safetensors.hpp"

namespace cpize::safetensors {
namespace {

static_assert(std::endian::native == std::endian::little, "the raw data of the format are little-endian");

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path), stream_(path, std::ios::binary) {
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(path, error);
    if (error || !stream_)
      throw InputError(path.string(), "cannot be read: " + (error ? error.message() : "open failed"));
    if (size < format::kLengthBytes)
      throw InputError(path.string(), "file is truncated: shorter than a header's length");
    std::uint64_t header_bytes = 0;
    fetch(&header_bytes, sizeof(header_bytes), "header");
    if (header_bytes > format::kMaxHeaderBytes || header_bytes > size - format::kLengthBytes) {
      throw InputError(path.string() + ", header", "file is truncated or no safetensors file: the header claims " +
                                                       std::to_string(header_bytes) + " bytes, the file has " +
                                                       std::to_string(size));
    }
    std::string text(header_bytes, '\0');
    fetch(text.data(), header_bytes, "header");
    data_start_ = format::kLengthBytes + header_bytes;
    header_ = format::parse(path, text, size - data_start_);
  }

  const format::Header& header() const { return header_; }

  at::Tensor tensor(const format::Entry& entry) {
    at::Tensor tensor = at::empty(entry.shape, at::TensorOptions().dtype(entry.dtype));
    const std::uint64_t bytes = entry.end - entry.begin;
    if (bytes == 0) return tensor;
    stream_.seekg(static_cast<std::streamoff>(data_start_ + entry.begin));
    fetch(tensor.data_ptr(), bytes, entry.name);
    if (entry.dtype == c10::ScalarType::Bool) check_bool(tensor, bytes, entry.name);
    return tensor;
  }

 private:
  void fetch(void* target, std::uint64_t bytes, const std::string& field) {
    stream_.read(static_cast<char*>(target), static_cast<std::streamsize>(bytes));
    if (static_cast<std::uint64_t>(stream_.gcount()) != bytes) {
      throw InputError(path_.string() + ", " + field, "file is truncated: " + std::to_string(stream_.gcount()) +
                                                          " of " + std::to_string(bytes) + " bytes could be read");
    }
  }

  void check_bool(const at::Tensor& tensor, std::uint64_t bytes, const std::string& name) const {
    const auto* first = static_cast<const unsigned char*>(tensor.data_ptr());
    const auto* bad = std::find_if(first, first + bytes, [](unsigned char byte) { return byte > 1; });
    if (bad != first + bytes) {
      throw InputError(path_.string() + ", " + name,
                       "BOOL element " + std::to_string(bad - first) + " is neither 0 nor 1");
    }
  }

  std::filesystem::path path_;
  std::ifstream stream_;
  std::uint64_t data_start_ = 0;
  format::Header header_;
};

}  // namespace

File read(const std::filesystem::path& path) {
  Reader reader(path);
  File file;
  file.metadata = reader.header().metadata;
  for (const format::Entry& entry : reader.header().entries) file.tensors[entry.name] = reader.tensor(entry);
  return file;
}

at::Tensor read_tensor(const std::filesystem::path& path, const std::string& name) {
  Reader reader(path);
  for (const format::Entry& entry : reader.header().entries) {
    if (entry.name == name) return reader.tensor(entry);
  }
  throw InputError(path.string() + ", " + name,
                   "no tensor of this name among " + std::to_string(reader.header().entries.size()));
}

Metadata read_metadata(const std::filesystem::path& path) { return Reader(path).header().metadata; }

}  // namespace cpize::safetensors
