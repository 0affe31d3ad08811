// The largest number of tokens whose training step fits in a given number of bytes a rank.
#pragma once
#include "bench/block_run.hpp"
#include "parity/phases/largest_size.hpp"

namespace cpize::bench {

using StepMemory = parity::SizeProbe;
using parity::find_max_tokens;
using parity::MaxTokens;

/// One step of a case in fp64, inputs, parameters, output gradients and all. None: serial.
StepMemory measure_step_memory(const std::string& block, const parity::Sizes& sizes,
                               const std::optional<MeshShape>& mesh);

}  // namespace cpize::bench
