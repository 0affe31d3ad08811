#include "error/error.hpp"
#include "profile/device_memory.hpp"

namespace cpize::profile {

DeviceMemory measure_device_memory(const Step&, c10::Device device, const std::string&) {
  throw ConfigError("the memory of " + device.str() +
                    " cannot be profiled: this build has no CUDA (configure with -DCPIZE_CUDA=ON)");
}

std::string device_name(c10::Device device) { return device.str(); }

}  // namespace cpize::profile
