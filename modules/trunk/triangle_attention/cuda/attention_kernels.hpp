// Fused kernels of triangle attention for Hopper GPUs: bf16, 128 channels, 4 heads of 32, fp32 sums. Launchers, no torch.
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
//   attention_input_backward   gradients at all projections -> the gradient of x
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
/// cores read them from shared memory; a block is copied as it is. Keys: k, v. Queries: q, scaled by log2(e) / sqrt(32).
/// Query gradients: q, the gradient of o, 64 x -log2 of the softmax sum, 64 x -(o . gradient of o), both fp32.
inline constexpr int kKeyBlock = 8192, kQueryBlock = 4096, kQueryGradientBlock = 8704;
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

/// The columns of a matrix of gradients at projections, [positions of all rows, kGradientColumns] bf16: those of q, k,
/// v, g, of T's heads (4 columns), and zeros.
inline constexpr int kGradientColumns = 528, kOfKeys = 128, kOfValues = 256, kOfGate = 384, kOfBias = 512;

inline constexpr int kAttentionImageBytes = (kGradientColumns + 2 * 128) * 256;
/// q, k, v, g, o [128, 128], linear [4, 128], bf16, contiguous -> an image of kAttentionImageBytes for all kernels below.
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
void attention_bias_fragments(const void* bias, const uint32_t* keys, int positions, void* fragments,
                              void* transposed, float* shift, void* stream);

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

/// -> o [rows, positions, 128] bf16, logs [rows, 4, positions] fp32: log2 of the sum of exp(score). Tiles whose sums leave
/// the range of fp32 are done again by a slower kernel; `flags`: flag_count(..) zeros, zeros again afterwards.
constexpr int64_t flag_count(int64_t rows, int padded) { return 1 + rows * kHeads * (padded / 64); }
void attention_forward(const AttentionPanel& panel, void* o, float* logs, int* flags, void* stream);

/// x, o -> y, of the panel's rows.
void attention_output(const PositionRows& x, const void* o, const void* image, const AttentionNorm& norm,
                      const PositionRows& y, int rows, int positions, void* stream);

/// x, dy, o, logs -> the panel's images (queries: kQueryGradientBlock); gated [positions, 128]: o times its gate; columns
/// kOfGate of `gradients`.
void attention_output_backward(const PositionRows& x, const PositionRows& dy, const void* o, const float* logs,
                               const void* image, const AttentionNorm& norm, const AttentionPanel& panel, void* gated,
                               void* gradients, void* stream);

/// Into the columns of q; of k and v.
void attention_query_gradients(const AttentionPanel& panel, void* gradients, void* stream);
void attention_key_gradients(const AttentionPanel& panel, void* gradients, void* stream);

/// Adds the panel's share to partial [bias_gradient_parts(..), 4, positions, positions] fp32, or writes it there if
/// `first`. Rows are shared out to the parts where there are too few tiles to keep a GPU busy.
int bias_gradient_parts(int64_t rows, int positions);
void attention_bias_gradient(const AttentionPanel& panel, int parts, bool first, float* partial, void* stream);

/// gradients (all columns but those of T), dbias [4, rows, positions] fp32 (head_step elements between heads) -> dx, the
/// columns of T, and normed [positions, 136] bf16, the standardised rows, then 1, then zeros.
void attention_input_backward(const PositionRows& x, void* gradients, const float* dbias, int64_t head_step,
                              const void* image, const AttentionNorm& norm, const PositionRows& dx, void* normed,
                              int rows, int positions, void* stream);

}  // namespace cpize::trunk::cuda
