#include "parity/harness/environment.hpp"

#include <torch/version.h>

#include <string>
#include <thread>

namespace cpize::parity {

void describe_environment(Measurement& measurement) {
  measurement.environment("torch", TORCH_VERSION);
  measurement.environment("hardware_threads", std::to_string(std::thread::hardware_concurrency()));
  measurement.environment("intra_op_threads", "1");
}

}  // namespace cpize::parity
