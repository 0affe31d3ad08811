// The largest number of tokens whose training step fits in a given number of bytes a rank.
#pragma once
#include "bench/block_run.hpp"
#include "parity/phases/largest_size.hpp"

namespace cpize::bench {

using StepMemory = parity::SizeProbe;
using parity::find_max_tokens;
using parity::MaxTokens;

/// One step of the slice: features, parameters, output gradient and all.
StepMemory measure_step_memory(const profile::SliceSize& size, const std::optional<MeshShape>& mesh);

}  // namespace cpize::bench
