#include "locks.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "errors.hpp"

namespace cpize::tool {

Lock::Lock(const fs::path& file, bool inherited) {
  fs::create_directories(file.parent_path());
  fd_ = ::open(file.c_str(), O_RDWR | O_CREAT | (inherited ? 0 : O_CLOEXEC), 0644);
  if (fd_ < 0)
    throw ToolError(kFailed, fmt::format("cannot open the lock {}: {}", file.string(), std::strerror(errno)));
}

Lock::~Lock() {
  if (fd_ >= 0) ::close(fd_);
}

bool Lock::try_take() { return ::flock(fd_, LOCK_EX | LOCK_NB) == 0; }

void Lock::take() {
  while (::flock(fd_, LOCK_EX) != 0) {
    if (errno != EINTR) throw ToolError(kFailed, fmt::format("cannot take a lock: {}", std::strerror(errno)));
  }
}

fs::path task_lock(const Plan& plan, const std::string& task) { return plan.locks() / (task + ".lock"); }
fs::path build_lock(const Plan& plan) { return plan.locks() / "build.lock"; }

bool in_flight(const Plan& plan, const std::string& task) {
  const int fd = ::open(task_lock(plan, task).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool busy = ::flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(fd);
  return busy;
}

}  // namespace cpize::tool
