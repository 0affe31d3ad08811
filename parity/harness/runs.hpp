// Runs: the sizes and masks that one cell tries, and their inputs. All random values come from own seeded generators.
#pragma once
#include <ATen/core/Generator.h>

#include <string>
#include <vector>

#include "parity/harness/block_case.hpp"
#include "parity/harness/setting.hpp"

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
/// In fp32 and bf16 N starts at precision_size(), so that quantiles of errors mean something, and on CUDA three runs
/// more have fused_size(). `overrides` (by hand) replaces sizes in every run.
std::vector<Run> runs_for(const BlockCase& block, const Setting& setting,
                          const std::map<std::string, std::int64_t>& overrides = {});

/// What masked positions of activations and features hold.
enum class Padding { random, zero, poison };

/// Full inputs of a run, in fp64 on the CPU, rounded to what the setting's dtypes hold. The same for the same case,
/// run, padding and dtype, whatever the mesh.
Tensors make_inputs(const BlockCase& block, const Run& run, Padding padding, const Setting& setting);

/// `value` of that input as the setting gives it to a block: dtype and device. Integers keep their dtype.
at::Tensor as_given(const TensorInfo& info, const at::Tensor& value, const Setting& setting);

/// One standard normal gradient for each output, of the shapes in `outputs`, rounded to the setting's dtype; zero at
/// masked positions if asked.
Tensors make_output_gradients(const BlockCase& block, const Run& run, const Tensors& outputs, const Tensors& inputs,
                              bool zero_where_masked, const Setting& setting);

/// true where `info` is valid according to its mask in `inputs`, expanded to `shape`.
at::Tensor valid_positions(const BlockCase& block, const TensorInfo& info, const Tensors& inputs, const Shape& shape);

/// A generator of its own for each purpose: seeded by the text.
at::Generator generator_for(const std::string& purpose);

/// The size of a dimension named by a letter or written as a number.
std::int64_t size_of(const std::string& dim, const Sizes& sizes);

}  // namespace cpize::parity
