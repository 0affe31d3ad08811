#include "parity/infra/machine.hpp"

#include <ATen/Config.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/csrc/api/include/torch/version.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

namespace cpize::parity {
namespace {

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

/// The version that the loaded library reports, the first x.y.z in its configuration text.
std::string loaded_torch() {
  std::istringstream text(at::show_config());
  for (std::string word; text >> word;) {
    const auto at = word.find("TORCH_VERSION=");
    if (at == std::string::npos) continue;
    std::string version = word.substr(at + 14);
    while (!version.empty() && !std::isdigit(static_cast<unsigned char>(version.back()))) version.pop_back();
    return version;
  }
  return "unknown";
}

}  // namespace

std::string torch_inconsistency() {
  const std::string headers = TORCH_VERSION;
  const std::string loaded = loaded_torch();
  const auto number = [](const std::string& v) { return v.substr(0, v.find_first_not_of("0123456789.")); };
  return number(headers) == number(loaded) ? "" : "headers are torch " + headers + ", the loaded library is " + loaded;
}

std::vector<std::pair<std::string, std::string>> machine_facts() {
  const double gib =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE)) / (1 << 30);
  char memory[32];
  std::snprintf(memory, sizeof memory, "%.1f GiB", gib);
  return {{"processor", processor()},
          {"cores", std::to_string(std::thread::hardware_concurrency())},
          {"memory", memory},
          {"compiler", __VERSION__},
          {"C++", std::to_string(__cplusplus)},
          {"libtorch", TORCH_VERSION},
          {"libtorch headers and library", torch_inconsistency().empty() ? "consistent" : torch_inconsistency()},
          {"vector instructions in use", at::get_cpu_capability()}};
}

}  // namespace cpize::parity
