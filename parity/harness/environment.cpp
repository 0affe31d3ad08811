#include "parity/harness/environment.hpp"

#include <torch/version.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace cpize::parity {
namespace {

/// What the driver calls the machine's first GPU; "" where there is none.
std::string gpu_model() {
  std::error_code none;
  for (const auto& gpu : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", none)) {
    std::ifstream information(gpu.path() / "information");
    for (std::string line; std::getline(information, line);)
      if (line.starts_with("Model:")) return line.substr(std::min(line.find_first_not_of(" \t", 6), line.size()));
  }
  return "";
}

}  // namespace

void describe_environment(Measurement& measurement) {
  measurement.environment("torch", TORCH_VERSION);
  measurement.environment("hardware_threads", std::to_string(std::thread::hardware_concurrency()));
  measurement.environment("intra_op_threads", "1");
  if (const std::string gpu = gpu_model(); !gpu.empty()) measurement.environment("gpu", gpu);
}

}  // namespace cpize::parity
