// Runs: the sizes and masks that one cell tries, and their inputs. All random values come from own seeded generators.
#pragma once
#include <ATen/core/Generator.h>

#include <string>
#include <vector>

#include "parity/harness/block_case.hpp"

namespace cpize::parity {

/// random: each position on its own; prefix: the last shard is padding only; one: a single valid position a sample.
enum class MaskKind { random, none, one, all, prefix };

struct Run {
  std::string name;  // "uneven/random"
  Sizes sizes;
  MaskKind mask = MaskKind::random;
  std::int64_t valid_tokens = 0;  // of a prefix mask
};

/// uneven: N and B divisible by no extent of the mesh (> 1); even: N divisible by all; padding: the last rows and
/// columns of ranks hold padding only; scarce: fewer tokens than the longest axis, so some shards are empty.
/// `overrides` (by hand) replaces sizes in every run.
std::vector<Run> runs_for(const BlockCase& block, const MeshShape& mesh,
                          const std::map<std::string, std::int64_t>& overrides = {});

/// What masked positions of activations and features hold.
enum class Padding { random, zero, poison };

/// Full inputs of a run. The same for the same case, run and padding, whatever the mesh.
Tensors make_inputs(const BlockCase& block, const Run& run, Padding padding);

/// One standard normal gradient for each output, of the shapes in `outputs`; zero at masked positions if asked.
Tensors make_output_gradients(const BlockCase& block, const Run& run, const Tensors& outputs, const Tensors& inputs,
                              bool zero_where_masked);

/// true where `info` is valid according to its mask in `inputs`, expanded to `shape`.
at::Tensor valid_positions(const BlockCase& block, const TensorInfo& info, const Tensors& inputs, const Shape& shape);

/// A generator of its own for each purpose: seeded by the text.
at::Generator generator_for(const std::string& purpose);

/// The size of a dimension named by a letter or written as a number.
std::int64_t size_of(const std::string& dim, const Sizes& sizes);

}  // namespace cpize::parity
