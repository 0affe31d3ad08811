// Fused kernels of triangle attention for Hopper GPUs: bf16, 128 channels, 4 heads of 32, fp32 sums. Launchers, no
// torch.
//
// In the order in which they run (math and names: attention_function.hpp):
//   attention_bias             x -> this rank's rows of T
//   attention_bias_fragments   the whole T -> T as the score products start from it
//   attention_projections      x -> images of q, k, v, for a panel of rows
//   attention_forward          images, T -> o, log-sums
//   attention_output           x, o -> y:  gate, project
// and backward
//   attention_output_backward  x, dy, o -> images of q, k, v and of the gradient of o; gradients at the gate
//   attention_bias_gradient, attention_key_gradients, attention_query_gradients
//   attention_input_backward   gradients at q, k, v and g -> the gradient of x
// and, once the gradient of T is the sum over all rows of all ranks,
//   attention_bias_backward    the gradient of this rank's rows of T -> its share of the gradient of x
// All but the three in the middle are one pass over memory. Pointers are device memory, work runs on `stream` (a
// cudaStream_t). Padding inside images is made by these kernels; every N >= 1 and any number of rows will do.
#pragma once
#include <cstdint>

namespace cpize::trunk::cuda {

inline constexpr int kHeads = 4, kHeadWidth = 32;

/// Positions of a row in images: a multiple of 128, at least 256 (a ring of stages is never shorter than four).
constexpr int padded_positions(int64_t positions) {
  return positions <= 256 ? 256 : static_cast<int>((positions + 127) / 128 * 128);
}

/// An image is made of blocks, one for 64 positions of a head of a row, in the order and swizzle in which the tensor
/// cores read them from shared memory; a block is copied as it is. Keys: k, v. Queries: q, scaled by log2(e) /
/// sqrt(32). Query gradients: q, the gradient of o, and 16 more columns of both (scores.cuh: shifts).
inline constexpr int kKeyBlock = 8192, kQueryBlock = 4096, kQueryGradientBlock = 10240;
constexpr int64_t image_bytes(int64_t rows, int padded, int block) { return rows * kHeads * (padded / 64) * block; }

/// Rows of 128 channels in core form; steps in elements. `at` is 16-byte aligned, steps are multiples of 8.
struct PositionRows {
  void* at;
  int64_t row_step, position_step;
};

struct AttentionNorm {
  const float *weight, *bias;
  float epsilon;
};

/// The columns of a matrix of gradients at projections, [positions of all rows, 512] bf16: those of q, k, v and g.
inline constexpr int kGradientColumns = 512, kOfKeys = 128, kOfValues = 256, kOfGate = 384;

/// Rows of 128 columns: those of q, k, v, g, linear and zeros up to a multiple of 16; o; o transposed.
inline constexpr int kInputRows = 528, kOfBias = 512, kAttentionImageBytes = (kInputRows + 2 * 128) * 256;
/// q, k, v, g, o [128, 128], linear [4, 128], bf16, contiguous -> an image of kAttentionImageBytes for all kernels
/// below.
void prepare_attention_weights(const void* q, const void* k, const void* v, const void* g, const void* o,
                               const void* linear, void* image, void* stream);

/// mask [rows, positions] bf16 -> valid [rows, padded / 32 + 2] bits (a row without keys counts as all valid: its shift
/// cancels), and keys [padded / 32]: which are valid in some row that has any (zeroed by the caller).
void attention_mask(const void* mask, int64_t row_step, int64_t position_step, int64_t rows, int positions,
                    uint32_t* valid, uint32_t* keys, void* stream);

/// x -> bias [4, rows, positions] bf16.
void attention_bias(const PositionRows& x, int64_t rows, int positions, const void* image, const AttentionNorm& norm,
                    void* bias, void* stream);

/// bias [4, positions, positions] bf16 -> fragments and (unless null) those of the transposed, [4, padded, padded] bf16
/// each, and shift [4, padded]: the largest of a query's biases over `keys`, in log2 units.
void attention_bias_fragments(const void* bias, const uint32_t* keys, int positions, void* fragments, void* transposed,
                              float* shift, void* stream);

/// A panel of rows: what the attention kernels work on.
struct AttentionPanel {
  int rows = 0, positions = 0, padded = 0;
  void *queries = nullptr, *keys = nullptr;  // images
  const void *bias = nullptr, *bias_transposed = nullptr;
  const float* shift = nullptr;
  const uint32_t* valid = nullptr;  // of the panel's first row
};

/// x of the panel's first row -> queries, keys.
void attention_projections(const PositionRows& x, const void* image, const AttentionNorm& norm,
                           const AttentionPanel& panel, void* stream);

/// -> o [rows, positions, 128] bf16, logs [rows, 4, positions] fp32: log2 of the sum of exp(score). Tiles whose sums
/// leave the range of fp32 are done again by a slower kernel; `flags`: flag_count(..) zeros, zeros again afterwards.
constexpr int64_t flag_count(int64_t rows, int padded) { return 1 + rows * kHeads * (padded / 64); }
void attention_forward(const AttentionPanel& panel, void* o, float* logs, int* flags, void* stream);

/// x, o -> y, of the panel's rows; with `residual` x + y, which may then take the place of x.
void attention_output(const PositionRows& x, const void* o, const void* image, const AttentionNorm& norm, bool residual,
                      const PositionRows& y, int rows, int positions, void* stream);

/// x, dy, o, logs -> the panel's images (queries: kQueryGradientBlock); gated [positions, 128]: o times its gate;
/// columns kOfGate of `gradients`.
void attention_output_backward(const PositionRows& x, const PositionRows& dy, const void* o, const float* logs,
                               const void* image, const AttentionNorm& norm, const AttentionPanel& panel, void* gated,
                               void* gradients, void* stream);

/// Into the columns of q; of k and v.
void attention_query_gradients(const AttentionPanel& panel, void* gradients, void* stream);
void attention_key_gradients(const AttentionPanel& panel, void* gradients, void* stream);

/// Adds the panel's share to partial [parts, 4, positions, positions] fp32, or writes it there if `first`. Rows are
/// shared out to the parts where there are too few tiles to keep a GPU busy.
int bias_gradient_parts(int64_t panel_rows, int64_t rows, int positions);
void attention_bias_gradient(const AttentionPanel& panel, int parts, bool first, float* partial, void* stream);

/// gradients -> dx, and normed [positions, 136] bf16: the standardised rows, then 1, then zeros. `residual` (or null)
/// is added to dx, which may take its place.
void attention_input_backward(const PositionRows& x, const void* gradients, const void* image,
                              const AttentionNorm& norm, const PositionRows* residual, const PositionRows& dx,
                              void* normed, int rows, int positions, void* stream);

/// dbias [4, rows, positions] fp32 -> added to dx; sums [bias_backward_sums(..), 4, 129] fp32, whose sum is that of
/// dbias [n, 1] over positions, n the standardised rows.
int bias_backward_sums(int64_t rows, int positions);
void attention_bias_backward(const PositionRows& x, const float* dbias, const void* image, const AttentionNorm& norm,
                             const PositionRows& dx, float* sums, int64_t rows, int positions, void* stream);

}  // namespace cpize::trunk::cuda
