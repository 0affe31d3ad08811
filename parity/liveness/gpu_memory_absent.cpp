#include "error/error.hpp"
#include "parity/liveness/faulty_backend.hpp"

namespace cpize::parity {

void take_gpu_memory_away(at::Device device) { throw ConfigError("this build has no " + device.str()); }

}  // namespace cpize::parity
