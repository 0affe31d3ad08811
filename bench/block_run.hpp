// Runs one block, serial or on a mesh with ranks as threads, and says what it cost. Blocks are the parity cases: what
// is timed is what is proved.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "mesh/mesh_shape.hpp"
#include "parity/harness/block_case.hpp"

namespace cpize::bench {

/// Every case of this program that has a cost size, in the order of names.
const std::vector<parity::BlockCase>& benchmarked_cases();
/// ConfigError that lists the names, for an unknown one.
const parity::BlockCase& case_named(const std::string& name);

struct BlockRun {
  std::string block;  // a case's name
  bool step = false;  // forward and backward (a port: and reduce_gradients of the block), or forward without gradients
  parity::Sizes sizes;                 // on top of the case's cost size; N at least
  at::ScalarType dtype = at::kDouble;  // fp64, fp32; bf16: under autocast
  std::optional<MeshShape> mesh;       // none: serial, one thread

  /// block/forward|step/dtype/N:64/mesh:1x2x2
  std::string name() const;
};

struct BlockCost {
  std::vector<double> seconds;  // of each repetition, the slowest rank's
  std::int64_t sent_bytes = 0;  // of the busiest rank, in one repetition
  std::int64_t peak_bytes = 0;  // of the fullest rank, above inputs and parameters
  double flops = 0;             // matrix products of all ranks, recomputation included
};

/// One untimed run that counts bytes and operations, then `repetitions` timed ones.
BlockCost run_block(const BlockRun& run, int repetitions);

}  // namespace cpize::bench
