// GpuBlock: one block on this rank's GPU, with random inputs, and what a run of it costs.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "mesh/device_mesh.hpp"

namespace cpize::bench {

struct GpuBlockRun {
  std::string block;                     // one of gpu_block_names()
  bool step = false;                     // forward, backward and reduce_gradients; else forward without gradients
  at::ScalarType dtype = at::kBFloat16;  // of activations; parameters are fp32, bf16 runs under autocast
  std::int64_t tokens = 0;
  bool fused = true;        // false: the plain path, named tri_mul_out_plain
  bool graph = false;       // replayed as a CUDA graph (trunk/replay.hpp), named pairformer_layer_graph; forward only
  std::int64_t chunks = 0;  // channel chunks of the triangle multiplication; 0: its own choice

  /// tri_mul_out/forward/bf16/N:2048/gpus:2
  std::string name(const MeshShape& mesh) const;
};

/// The trunk's blocks with 128 pair channels, 384 token channels, 4 and 16 heads, an MSA of 1,024 rows, batch 1. Beside
/// them there are pairformer_layer_dropout, as in training, where dropout makes the residual stream fp32, and
/// tri_att_start_library, by the library's attention, as on GPUs that have no kernels of ours.
const std::vector<std::string>& gpu_block_names();

class GpuBlock {
 public:
  /// A collective of the mesh, whose ranks have a GPU each (`device` here).
  GpuBlock(const GpuBlockRun& run, const MeshPtr& mesh, at::Device device);

  /// Seconds of one run, averaged over `times` runs, of the slowest rank. A collective.
  double seconds(int times) const;

  /// Above inputs and parameters: of the fullest rank. Sent: of the busiest rank. Both in one run.
  std::int64_t peak_bytes() const { return peak_bytes_; }
  std::int64_t sent_bytes() const { return sent_bytes_; }
  /// Of matrix products in one run on one rank.
  double flops() const { return flops_; }
  /// What perfect kernels would take on one rank: bytes that must move through memory at kCopyBandwidth, plus matrix
  /// products at kMatmulRate; exchanged bytes not counted.
  double floor_seconds() const { return floor_seconds_; }

 private:
  void run() const;
  void clear() const;

  MeshPtr mesh_;
  at::Device device_;
  bool step_;
  std::function<std::vector<at::Tensor>()> forward_;
  std::vector<at::Tensor> leaves_, parameters_, output_gradients_;
  std::int64_t peak_bytes_ = 0, sent_bytes_ = 0;
  double floor_seconds_ = 0, flops_ = 0;
};

/// Measured on an H200: a copy's bytes a second, read and written; bf16 matrix products. By the datasheet: fp32 ones.
inline constexpr double kCopyBandwidth = 4.2e12, kMatmulRate = 788e12, kWideMatmulRate = 67e12;

}  // namespace cpize::bench
