#include "bench/max_tokens.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "comm/memory_meter.hpp"
#include "comm/run_ranks.hpp"
#include "profile/case_step.hpp"

namespace cpize::bench {

StepMemory measure_step_memory(const std::string& block, const parity::Sizes& sizes,
                               const std::optional<MeshShape>& shape) {
  const parity::Setting setting(shape.value_or(MeshShape(1, 1, 1)));
  const profile::CaseProblem problem = profile::make_case_problem(case_named(block), sizes, setting);
  StepMemory result{sizes["N"], 0, 0};
  const auto start = std::chrono::steady_clock::now();
  if (!shape) {
    const int threads = at::get_num_threads();
    at::set_num_threads(1);
    comm::MemoryMeter meter;
    const comm::MemoryMeter::Scope attached(meter);
    meter.reset();
    profile::SerialCaseRun(problem).step();
    result.peak_bytes = meter.peak_bytes();
    at::set_num_threads(threads);
  } else {
    std::mutex mutex;
    comm::run_ranks(*shape, [&](const MeshPtr& mesh) {
      comm::MemoryMeter meter;
      const comm::MemoryMeter::Scope attached(meter);
      meter.reset();
      profile::PortCaseRun(problem, mesh).step();
      const std::lock_guard lock(mutex);
      result.peak_bytes = std::max(result.peak_bytes, meter.peak_bytes());
    });
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace cpize::bench
