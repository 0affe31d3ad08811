// The Google Benchmark suite: every block that is proved, serial against port.
#pragma once
#include "bench/block_run.hpp"

namespace cpize::bench {

struct SuiteOptions {
  std::vector<std::int64_t> tokens;
  std::vector<std::optional<MeshShape>> meshes;  // none: serial
  std::vector<at::ScalarType> dtypes;
  int repetitions = 3;
};

/// The suite of `cpize_bench`.
SuiteOptions full_suite();

/// Registers block x forward|step x dtype x N x mesh, at the widths of the case's cost size. Counters: sent_bytes
/// (busiest rank), peak_bytes (fullest rank, above inputs and parameters), tokens_per_s, flops_per_s (matrix products
/// of all ranks, recomputation included). Returns how many.
std::size_t register_blocks(const SuiteOptions& options);

}  // namespace cpize::bench
