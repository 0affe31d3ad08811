// docs/cp_benchmark.md: how many tokens fit, how long a step takes, what each block costs; serial against the mesh.
#pragma once
#include <map>

#include "bench/max_tokens.hpp"

namespace cpize::bench {

/// One line of the suite.
struct BlockLine {
  std::string name;
  double milliseconds = 0;
  std::map<std::string, double> counters;
};

struct ScaleResult {
  std::int64_t batch = 1;
  std::optional<MeshShape> mesh;
  MaxTokens max_tokens;
  std::vector<StepMemory> over_n;  // tokens, peak above inputs, and the fastest of the repetitions
};

/// `model`: the case, and its widths in words.
std::string scale_report(const std::string& model, std::int64_t budget, const std::vector<ScaleResult>& results,
                         const std::vector<BlockLine>& blocks, int hardware_threads);

}  // namespace cpize::bench
