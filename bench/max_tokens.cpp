#include "bench/max_tokens.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>

#include "comm/memory_meter.hpp"
#include "comm/run_ranks.hpp"
#include "error/error.hpp"

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

const StepMemory& MaxTokens::largest() const {
  return *std::find_if(probes.begin(), probes.end(), [this](const StepMemory& p) { return p.tokens == fits; });
}

MaxTokens find_max_tokens(std::int64_t budget, const std::function<StepMemory(std::int64_t)>& measure,
                          std::int64_t smallest, double resolution) {
  MaxTokens found;
  const auto probe = [&](std::int64_t tokens) {
    found.probes.push_back(measure(tokens));
    const bool fits = found.probes.back().peak_bytes <= budget;
    (fits ? found.fits : found.does_not_fit) = tokens;
    return fits;
  };
  if (!probe(smallest))
    throw ConfigError("a step at " + std::to_string(smallest) + " tokens holds " +
                      std::to_string(found.probes.back().peak_bytes) + " bytes, more than the budget of " +
                      std::to_string(budget));
  const auto done = [&] {
    const auto step =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(resolution * static_cast<double>(found.fits)));
    return found.does_not_fit > 0 && found.does_not_fit - found.fits <= step;
  };
  while (!done()) {
    const auto& from = found.largest();
    const double n = static_cast<double>(from.tokens), peak = static_cast<double>(from.peak_bytes);
    const auto reach = [&](double bytes) { return static_cast<std::int64_t>(n * std::sqrt(bytes / peak)); };
    const auto limit = std::max(found.fits + 1, reach(1.1 * static_cast<double>(budget)));
    // Constants make small sizes look dearer than they are, so the guess is low at first and improves as it grows.
    std::int64_t next = reach(static_cast<double>(budget));
    if (next <= found.fits * (1 + resolution)) next = found.fits + std::max<std::int64_t>(1, found.fits / 100);
    next = std::clamp(next, found.fits + 1, limit);
    if (found.does_not_fit > 0 && next >= found.does_not_fit) next = (found.fits + found.does_not_fit) / 2;
    probe(next);
  }
  return found;
}

}  // namespace cpize::bench
