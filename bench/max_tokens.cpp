#include "bench/max_tokens.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "comm/memory_meter.hpp"
#include "comm/run_ranks.hpp"

namespace cpize::bench {
namespace {

std::int64_t given_bytes(const profile::SliceProblem& problem) {
  auto sum = static_cast<std::int64_t>(problem.output_gradient.nbytes());
  for (const auto& [name, feature] : problem.features) sum += static_cast<std::int64_t>(feature.nbytes());
  for (const auto& p : problem.model->parameters()) sum += static_cast<std::int64_t>(p.nbytes());
  return sum;
}

}  // namespace

StepMemory measure_step_memory(const profile::SliceSize& size, const std::optional<MeshShape>& shape) {
  const profile::SliceProblem problem = profile::make_slice_problem(size);
  StepMemory result{size.tokens, 0, 0};
  const auto start = std::chrono::steady_clock::now();
  if (!shape) {
    const int threads = at::get_num_threads();
    at::set_num_threads(1);
    profile::SerialSliceRun run(problem);
    comm::MemoryMeter meter;
    const comm::MemoryMeter::Scope attached(meter);
    meter.reset();
    run.step();
    result.peak_bytes = meter.peak_bytes() + given_bytes(problem);
    at::set_num_threads(threads);
  } else {
    std::mutex mutex;
    comm::run_ranks(*shape, [&](const MeshPtr& mesh) {
      comm::MemoryMeter meter;
      const comm::MemoryMeter::Scope attached(meter);
      meter.reset();
      profile::PortSliceRun(problem, mesh).step();
      const std::lock_guard lock(mutex);
      result.peak_bytes = std::max(result.peak_bytes, meter.peak_bytes());
    });
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace cpize::bench
