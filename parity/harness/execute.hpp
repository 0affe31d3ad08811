// Execute: runs the serial block, or the port on a mesh, and keeps everything that is compared.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "parity/harness/block_case.hpp"
#include "parity/harness/parameters.hpp"
#include "parity/harness/runs.hpp"

namespace cpize::parity {

/// Full tensors in fp64 on the CPU, whoever computed them, at whatever dtype.
struct Results {
  Tensors outputs, input_gradients, parameter_gradients;
};

struct SerialRun {
  Run run;
  SerialBlock block;  // fp64, on the CPU: its parameters are the ones to copy
  Tensors inputs, output_gradients;
  Results results;  // the truth: fp64, from inputs and parameters that the cell's dtypes hold exactly
  Setting setting;
  std::optional<Results> own;  // fp32, bf16: what the serial block itself makes of them at that dtype on that device
  std::set<std::string> inputs_read;
  int perturbed_constants = 0;  // parameters that were constant as initialised
};

/// Builds the block with perturbed parameters and runs it, forward and backward, on inputs with random padding.
SerialRun run_serial(const BlockCase& block, const Run& run, const Setting& setting = MeshShape());

/// One rank's view, kept for the facts: on the CPU, in the dtypes that the rank had.
struct RankTensors {
  std::map<std::string, at::Tensor> inputs, outputs, input_gradients, seeds;
  std::map<std::string, at::Tensor> contributions, reduced;  // parameter gradients before and after the sum
};

struct PortRun {
  MeshShape mesh;
  std::vector<RankTensors> ranks;
  std::map<std::string, Spec> output_specs;
  std::map<std::string, Shape> output_shapes;
  Results results;  // assembled
};

/// What to spoil on the way; nothing by default.
struct Spoil {
  std::string drop_parameter;  // this rank's contribution to this parameter's gradient is zeroed before the sum
  int drop_rank = -1;
  bool ignore_mask = false;  // the port gets masks of ones
};

/// The port with the serial block's parameters on every rank of the setting, forward and backward. A collective.
PortRun run_port(const BlockCase& block, const SerialRun& serial, const Setting& setting, const Tensors& inputs,
                 const Tensors& output_gradients, const Spoil& spoil = {});

/// Puts the shards of a port run together: outputs in their layouts, input gradients partial over replicas.
void assemble_results(const BlockCase& block, const Tensors& inputs, PortRun& run);

/// This rank's shards of `inputs`; activations are leaves with gradient.
ShardedTensors shard_inputs(const BlockCase& block, const Tensors& inputs, const MeshPtr& mesh,
                            const Setting& setting = MeshShape());

/// The seed of an output's gradient: its shard on the owner of each replica set, zero on the others. In the dtype and
/// on the device of `full_gradient`.
at::Tensor seed_for(const Spec& output, const Shape& global, const DeviceMesh& mesh, const at::Tensor& full_gradient);

}  // namespace cpize::parity
