#include <ATen/Functions.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "error/error.hpp"
#include "safetensors/format.hpp"
#include "safetensors/safetensors.hpp"

namespace cpize::safetensors {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* action) {
  throw ResourceError(path.string() + ": cannot " + action + ": " + std::strerror(errno));
}

/// A file that exists under its final name only after `commit`; otherwise it is removed.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path) : path_(path), temporary_(path) {
    static std::atomic<unsigned> counter{0};  // several threads of a process may write beside each other
    temporary_ += ".tmp." + std::to_string(::getpid()) + "." + std::to_string(counter++);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail(path_, "create a file beside it");
  }
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!committed_) ::unlink(temporary_.c_str());
  }

  void append(const void* data, std::uint64_t bytes) {
    const auto* cursor = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t written = ::write(descriptor_, cursor, bytes);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(path_, "write");
      cursor += written;
      bytes -= static_cast<std::uint64_t>(written);
    }
  }

  void commit() {
    if (::fsync(descriptor_) != 0) fail(path_, "sync");
    const int descriptor = std::exchange(descriptor_, -1);
    if (::close(descriptor) != 0) fail(path_, "close");
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, "rename the new file over the old one");
    committed_ = true;
    sync_directory();
  }

 private:
  /// The rename itself is durable only when the directory is. Some file systems cannot sync one; the content is safe
  /// anyway.
  void sync_directory() const {
    const std::filesystem::path directory = path_.has_parent_path() ? path_.parent_path() : ".";
    const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    ::fsync(descriptor);
    ::close(descriptor);
  }

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  bool committed_ = false;
};

void check(const std::string& name, const at::Tensor& tensor) {
  if (name == format::kMetadataKey) throw ContractError("'" + name + "' is reserved and cannot name a tensor");
  if (!tensor.defined()) throw ContractError("tensor '" + name + "' is undefined");
  if (tensor.layout() != at::kStrided)
    throw ContractError("tensor '" + name + "' is sparse: only dense tensors are written");
  if (format::dtype_name(tensor.scalar_type()).empty()) {
    throw ContractError("tensor '" + name + "' has dtype " + c10::toString(tensor.scalar_type()) +
                        ", which the file format does not hold");
  }
}

/// Wider elements first keeps every tensor aligned to its element size; names make the order unique.
std::vector<format::Entry> plan(const Tensors& tensors) {
  std::vector<format::Entry> entries;
  for (const auto& [name, tensor] : tensors) {
    check(name, tensor);
    entries.push_back({name, tensor.scalar_type(), tensor.sizes().vec(), 0, tensor.nbytes()});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const format::Entry& a, const format::Entry& b) {
    return c10::elementSize(a.dtype) > c10::elementSize(b.dtype);
  });
  std::uint64_t cursor = 0;
  for (format::Entry& entry : entries) {
    entry.begin = std::exchange(cursor, cursor + entry.end);
    entry.end = cursor;
  }
  return entries;
}

}  // namespace

void write(const std::filesystem::path& path, const Tensors& tensors, const Metadata& metadata) {
  const std::vector<format::Entry> entries = plan(tensors);
  const std::string header = format::serialize(entries, metadata);
  const std::uint64_t header_bytes = header.size();
  AtomicFile file(path);
  file.append(&header_bytes, sizeof(header_bytes));
  file.append(header.data(), header.size());
  for (const format::Entry& entry : entries) {
    const at::Tensor data = tensors.at(entry.name).detach().cpu().resolve_conj().resolve_neg().contiguous();
    file.append(data.data_ptr(), entry.end - entry.begin);
  }
  file.commit();
}

}  // namespace cpize::safetensors
