#include "lifecycle/atomic_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "error/error.hpp"

namespace cpize::lifecycle {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& action) {
  throw ResourceError(path.string() + ": cannot " + action + ": " + std::strerror(errno));
}

/// What a rename did is durable only when the folder that holds the name is. Some file systems cannot sync a folder;
/// the content of the files is safe anyway.
void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

fs::path beside(const fs::path& path, const char* kind) {
  fs::path other = path;
  other += std::string(kind) + std::to_string(::getpid());
  return other;
}

}  // namespace

AtomicFolder::AtomicFolder(fs::path final) : final_(fs::absolute(final).lexically_normal()) {
  if (!final_.has_filename()) final_ = final_.parent_path();  // "step_3/"
  temporary_ = beside(final_, ".tmp-");
  std::error_code error;
  fs::create_directories(final_.parent_path(), error);
  if (!error) fs::remove_all(temporary_, error);
  if (!error) fs::create_directory(temporary_, error);
  if (error) throw ResourceError(temporary_.string() + ": cannot make this folder: " + error.message());
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!committed_) fs::remove_all(temporary_, ignored);
}

void AtomicFolder::commit() {
  sync_folder(temporary_);
  if (!fs::exists(final_)) {
    if (::rename(temporary_.c_str(), final_.c_str()) != 0) fail(final_, "rename the finished folder to it");
  } else if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, final_.c_str(), RENAME_EXCHANGE) == 0) {
    std::error_code ignored;
    fs::remove_all(temporary_, ignored);  // it holds the old files now
  } else {
    const fs::path old = beside(final_, ".old-");
    std::error_code ignored;
    fs::remove_all(old, ignored);
    if (::rename(final_.c_str(), old.c_str()) != 0) fail(final_, "move the old folder away");
    if (::rename(temporary_.c_str(), final_.c_str()) != 0) {
      const int reason = errno;
      ::rename(old.c_str(), final_.c_str());
      errno = reason;
      fail(final_, "rename the finished folder to it");
    }
    fs::remove_all(old, ignored);
  }
  committed_ = true;
  sync_folder(final_.parent_path());
}

bool AtomicFolder::is_leftover(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.find(".tmp-") != std::string::npos || name.find(".old-") != std::string::npos;
}

void write_synced(const fs::path& file, const std::string& text) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) fail(file, "create it");
  std::size_t done = 0;
  bool good = true;
  while (good && done < text.size()) {
    const ssize_t written = ::write(descriptor, text.data() + done, text.size() - done);
    if (written >= 0)
      done += static_cast<std::size_t>(written);
    else
      good = errno == EINTR;
  }
  good = good && ::fsync(descriptor) == 0;
  const int reason = errno;
  ::close(descriptor);
  errno = reason;
  if (!good) fail(file, "write it");
}

}  // namespace cpize::lifecycle
