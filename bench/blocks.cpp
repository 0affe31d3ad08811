#include "bench/blocks.hpp"

#include <benchmark/benchmark.h>

namespace cpize::bench {
namespace {

void measure(benchmark::State& state, const BlockRun& run) {
  // All repetitions share one world: building it is not what is timed.
  const BlockCost cost = run_block(run, static_cast<int>(state.max_iterations));
  std::size_t repetition = 0;
  for (auto _ : state) state.SetIterationTime(cost.seconds.at(repetition++));
  using benchmark::Counter;
  state.counters["sent_bytes"] = static_cast<double>(cost.sent_bytes);
  state.counters["peak_bytes"] = static_cast<double>(cost.peak_bytes);
  state.counters["tokens_per_s"] =
      Counter(static_cast<double>(run.sizes["N"] * (run.mesh ? run.mesh->extent(Axis::dp) : 1)),
              Counter::kIsIterationInvariantRate);
  state.counters["flops_per_s"] = Counter(cost.flops, Counter::kIsIterationInvariantRate);
}

}  // namespace

SuiteOptions full_suite() {
  return {{64, 128},
          {std::nullopt, MeshShape(1, 1, 1), MeshShape(1, 1, 2), MeshShape(1, 2, 2), MeshShape(1, 2, 3)},
          {at::kFloat, at::kDouble}};
}

std::size_t register_blocks(const SuiteOptions& options) {
  std::size_t count = 0;
  for (const auto& block : benchmarked_cases())
    for (const bool step : {false, true})
      for (const auto dtype : options.dtypes)
        for (const auto tokens : options.tokens)
          for (const auto& mesh : options.meshes) {
            const BlockRun run{block.name(), step, {{"N", tokens}}, dtype, mesh};
            benchmark::RegisterBenchmark(run.name().c_str(), [run](benchmark::State& state) { measure(state, run); })
                ->Iterations(options.repetitions)
                ->UseManualTime()
                ->Unit(benchmark::kMillisecond);
            ++count;
          }
  return count;
}

}  // namespace cpize::bench
