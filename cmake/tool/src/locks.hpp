// Advisory locks (flock): released by the kernel when the last holder is gone, whatever killed it.
#pragma once
#include <filesystem>

#include "plan.hpp"

namespace cpize::tool {

class Lock {
 public:
  /// `inherited`: children hold it too, so that an orphan (a running make, a measured program) still counts.
  Lock(const fs::path& file, bool inherited);
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  bool try_take();
  void take();

 private:
  int fd_ = -1;
};

fs::path task_lock(const Plan& plan, const std::string& task);
fs::path build_lock(const Plan& plan);

/// Somebody measures this task right now.
bool in_flight(const Plan& plan, const std::string& task);

}  // namespace cpize::tool
