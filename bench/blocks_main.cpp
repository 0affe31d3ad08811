// cpize_bench: the Google Benchmark suite of the blocks; its flags are Google Benchmark's (--benchmark_filter=...).
#include <benchmark/benchmark.h>

#include "bench/blocks.hpp"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  cpize::bench::register_blocks(cpize::bench::full_suite());
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
