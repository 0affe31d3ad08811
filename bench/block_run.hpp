// Runs one block of the pair slice, serial or on a mesh with ranks as threads, and says what it cost.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "mesh/mesh_shape.hpp"
#include "profile/scoped_slice.hpp"

namespace cpize::bench {

struct BlockRun {
  std::string block;  // one of block_names()
  bool step = false;  // forward and backward (a port: and reduce_gradients of the block), or forward without gradients
  profile::SliceSize size;
  std::optional<MeshShape> mesh;  // none: serial, one thread

  /// block/forward|step/dtype/N:64/mesh:1x2x2
  std::string name() const;
};

/// pair_init, tri_mul_out, tri_mul_in, transition, slice.
const std::vector<std::string>& block_names();

struct BlockCost {
  std::vector<double> seconds;  // of each repetition, the slowest rank's
  std::int64_t sent_bytes = 0;  // of the busiest rank, in one repetition
  std::int64_t peak_bytes = 0;  // of the fullest rank, above inputs and parameters
  double flops = 0;             // matrix products of all ranks, recomputation included
};

/// One untimed run that counts bytes and operations, then `repetitions` timed ones. ConfigError for an unknown
/// block.
BlockCost run_block(const BlockRun& run, int repetitions);

}  // namespace cpize::bench
