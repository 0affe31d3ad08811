// What one size of a model costs on a mesh, and the file in Google Benchmark's form that says so.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bench/scaling/scaling_model.hpp"

namespace cpize::bench {

/// One thing to measure: trunk/step/2048.
struct ScalingTask {
  std::string model;
  bool step = false;
  std::int64_t tokens = 0;

  /// ConfigError where `text` has another form, or names another model.
  static ScalingTask parse(const std::string& text);
  /// trunk/step/bf16/N:2048/gpus:4; ranks that are threads: mesh:1x2x2 at the end.
  std::string name(const parity::Setting& setting) const;
};

struct ScalingOptions {
  parity::Sizes sizes;   // of scaling_sizes()
  int runs = 3;          // timed, after one to warm up and one that counts
  bool exposed = false;  // steps on several GPUs: recorded once more, for exposed communication
  bool probe = false;    // one run, the first: does it fit?
};

/// The same on every rank.
struct ScalingCost {
  std::vector<double> seconds;  // of each run the slowest rank's
  std::int64_t peak_bytes = 0;  // of the fullest rank, above inputs and parameters; a probe: everything
  std::int64_t sent_bytes = 0;  // of the busiest rank, in one run
  double sent_bytes_formula = 0;
  std::optional<double> exposed_seconds, communication_seconds, idle_seconds;  // of the rank whose step took longest
};

/// A collective of the mesh. ResourceError where this rank's memory does not suffice.
ScalingCost measure_scaling(const ScalingTask& task, const ScalingOptions& options, const parity::Setting& setting,
                            const MeshPtr& mesh);

/// The whole file.
std::string scaling_json(const std::vector<std::pair<ScalingTask, ScalingCost>>& results, const ScalingOptions& options,
                         const parity::Setting& setting);

}  // namespace cpize::bench
