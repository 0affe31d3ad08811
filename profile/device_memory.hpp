// DeviceMemory: who holds how many bytes of a GPU in one step of any model, from the allocator's history.
//
// Every allocation is kept with the scope and phase that asked for it (ScopeTracker, also in the engine's threads);
// bytes are those asked for. What libraries allocate past libtorch (NCCL's buffers, the CUDA context) is not seen.
#pragma once
#include <c10/core/Device.h>
#include <cstdint>

#include "profile/step_memory.hpp"

namespace cpize::profile {

struct DeviceMemory : StepMemory {
  std::int64_t allocator_peak = 0;  // the allocator's own count of the same: its peak less what was live before
  std::int64_t reserved = 0;        // the most that it had taken from the GPU, rounding and gaps included
};

/// One step on this process's GPU, warmed up before. Writes the history to `snapshot` unless "": a pickle that
/// torch's memory_viz reads, with scopes for stacks. ConfigError where this build has no CUDA; ContractError where the
/// step allocated so often that the history does not hold it all.
DeviceMemory measure_device_memory(const Step& step, c10::Device device, const std::string& snapshot = "");

/// What the driver calls the device.
std::string device_name(c10::Device device);

}  // namespace cpize::profile
