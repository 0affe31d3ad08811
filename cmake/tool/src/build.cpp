#include "build.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "errors.hpp"

namespace cpize::tool {

ChildResult build_targets(const Plan& plan, const std::vector<std::string>& targets, const fs::path& log,
                          bool keep_going) {
  std::vector<std::string> command{plan.cmake, "--build", plan.build.string()};
  if (plan.multi) {
    command.emplace_back("--config");
    command.push_back(plan.config);
  }
  command.emplace_back("--target");
  command.insert(command.end(), targets.begin(), targets.end());
  if (keep_going) {
    const bool ninja = plan.generator.find("Ninja") != std::string::npos;
    const bool make = plan.generator.find("Makefiles") != std::string::npos;
    if (ninja || make) {
      command.emplace_back("--");
      command.emplace_back(ninja ? "-k0" : "-k");
    }
  }
  return run_child({command, log, plan.build, {}, 0});
}

std::vector<std::string> refresh_time_stamps(const std::vector<std::string>& sources, const fs::path& program) {
  std::vector<std::string> touched;
  struct stat p {};
  if (::stat(program.c_str(), &p) != 0) return touched;
  const auto ns = [](const timespec& t) { return t.tv_sec * 1'000'000'000LL + t.tv_nsec; };
  for (const auto& f : sources) {
    struct stat s {};
    if (::stat(f.c_str(), &s) != 0) continue;
    const bool redated = ns(s.st_ctim) - ns(s.st_mtim) > 50'000'000LL;
    if (!redated || ns(s.st_ctim) < ns(p.st_mtim)) continue;
    if (::utimensat(AT_FDCWD, f.c_str(), nullptr, 0) != 0) {
      throw ToolError(kFailed,
                      fmt::format("{} changed after the program was linked, but is dated earlier, so that the build "
                                  "would not see it; it cannot be touched ({})",
                                  f, std::strerror(errno)));
    }
    touched.push_back(f);
  }
  return touched;
}

}  // namespace cpize::tool
