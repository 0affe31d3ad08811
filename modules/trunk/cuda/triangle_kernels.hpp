// Fused kernels of the triangle multiplication for Hopper GPUs: bf16, 128 channels, fp32 sums. Launchers, no torch.
//
// Around the batched matrix product of the triangle, everything is one pass over memory each:
//   edges            z -> a, b:   normalise, project, gate, mask, write channel-first
//   output           o, z -> y:   normalise both, project, gate
//   output_backward  dy, z, o -> gradient of o, the gate's share of the gradient of norm_in(z), operands of weight sums
//   edges_backward   da, db, z -> gradient of z, operands of weight sums
// Math and names: triangle_multiplication.hpp. `rows` is one batch entry of a shard of z, `count` positions of 128
// channels. All pointers are device memory, rows aligned to 16 bytes; work runs on `stream` (a cudaStream_t).
//
// Weight sums: gradients of weights are products over all positions. The kernels write their operands for a panel of
// positions, standardised rows n extended by a 1, so that X = operand^T [n, 1] holds everything: the gradient of a
// projection W is X w + x b^T (w, b the norm's parameters, x the last column), that of w is sum_k W X, that of b x W.
#pragma once
#include <cstdint>

namespace cpize::trunk::cuda {

inline constexpr int kEdgesImageBytes = 512 * 256, kOutputImageBytes = 2 * 128 * 256;

/// Channel-first memory of one batch entry, in blocks of equally many channels (a power of two), so that what one
/// exchange sends to one rank can be a tensor of its own: block k holds channels [k c, (k + 1) c) as
/// [channel][positions]. Edges have a, then b for every channel, [channel][2][positions].
struct ChannelMemory {
  static constexpr int kMostBlocks = 32;
  void* block[kMostBlocks] = {};
  int block_channels = 128;
};

struct TrianglePositions {
  std::int64_t count = 0;  // of the batch entry: the distance of channels in channel-first memory
  std::int64_t begin = 0;  // the panel [begin, begin + size) that a backward kernel works on; begin is a multiple of 64
  std::int64_t size = 0;
};

struct TriangleNorm {
  const float *weight, *bias;
  float epsilon;
};

/// p_in, g_in [256, 128], p_out, g_out [128, 128], bf16, contiguous -> images of kEdgesImageBytes, kOutputImageBytes.
void prepare_triangle_weights(const void* p_in, const void* g_in, const void* p_out, const void* g_out,
                              void* edges_image, void* output_image, void* stream);

/// Channels 0 .. 63, 64 .. 127 or all of them: where the first half is under way to other ranks, the second can be
/// made.
enum class ChannelHalves { first, second, both };

/// rows, mask [count] bf16 -> edges.
void triangle_edges(const void* rows, const void* mask, const void* edges_image, const TriangleNorm& norm_in,
                    const ChannelMemory& edges, ChannelHalves halves, std::int64_t count, void* stream);

/// sums, rows -> y [count, 128]; with `residual` rows + y, which may then lie in the rows' place.
void triangle_output(const ChannelMemory& sums, const void* rows, const void* output_image, const TriangleNorm& norm_in,
                     const TriangleNorm& norm_out, bool residual, void* y, std::int64_t count, void* stream);

/// Operands of weight sums, each with room for a multiple of 64 rows.
struct OutputOperands {
  void *dt, *dv;                 // [size, 128]: gradients at p_out and before g_out's sigmoid
  void *normed_out, *normed_in;  // [size, 136]: standardised and extended; normed_out's columns hold channel_of(column)
};
/// dy -> the gradient of the sums, in their place, and dnormed: the gate's share of the gradient of norm_in's result,
/// [count, 128].
void triangle_output_backward(const void* dy, const ChannelMemory& sums, const void* rows, const void* output_image,
                              const TriangleNorm& norm_in, const TriangleNorm& norm_out, void* dnormed,
                              const OutputOperands& operands, const TrianglePositions& at, void* stream);

/// dedges, dnormed -> dz [count, 128] (may be `dnormed` itself); `residual` [count, 128] (or null) is added to it. duv
/// [size, 512]: per 32 edge channels the gradients at p_in, then before g_in's sigmoid, each 32 in order channel_of;
/// normed_in as above.
void triangle_edges_backward(const ChannelMemory& dedges, const void* rows, const void* mask, const void* dnormed,
                             const void* residual, const void* edges_image, const TriangleNorm& norm_in, void* dz,
                             void* duv, void* normed_in, const TrianglePositions& at, void* stream);

/// items x rows x columns of bf16 between two strided memories (element strides): shards to whole channels and back.
void copy_blocks(const void* from, std::int64_t from_item, std::int64_t from_row, void* to, std::int64_t to_item,
                 std::int64_t to_row, std::int64_t items, std::int64_t rows, std::int64_t columns, void* stream);

}  // namespace cpize::trunk::cuda
