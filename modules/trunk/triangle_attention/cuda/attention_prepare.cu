// Weight images, key masks as bits, and T in the order in which score products start from it.
#include "trunk/cuda/launch.cuh"
#include "trunk/triangle_attention/cuda/attention_tiles.cuh"
#include "trunk/triangle_attention/cuda/scores.cuh"

namespace cpize::trunk::cuda {
namespace {

/// Rows of every section stand for channel_of(row) of what is written there, columns for channel_of(column) of the rows
/// of 128 that are read; the four rows of T are as they are, and followed by zeros.
__global__ void prepare_attention_kernel(const bf16* q, const bf16* k, const bf16* v, const bf16* g, const bf16* o,
                                         const bf16* linear, char* image) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / kChannels, column = i % kChannels;
  if (row < kInputRows) {
    const int c = channel_of(column);
    const bf16* of[] = {q, k, v, g};
    bf16 value = 0.0f;
    if (row < kOfBias)
      value = of[row / kChannels][channel_of(row % kChannels) * kChannels + c];
    else if (row < kOfBias + kHeads)
      value = linear[(row - kOfBias) * kChannels + c];
    *reinterpret_cast<bf16*>(image + image_offset(kInputRows, row, column)) = value;
  } else {
    const int which = (row - kInputRows) / kChannels, r = channel_of((row - kInputRows) % kChannels),
              c = channel_of(column);
    *reinterpret_cast<bf16*>(image + (kInputRows + which * kChannels) * 256 +
                             image_offset(kChannels, (row - kInputRows) % kChannels, column)) =
        which == 0 ? o[r * kChannels + c] : o[c * kChannels + r];
  }
}

struct MaskArguments {
  const bf16* mask;
  int64_t row_step, position_step;
  int positions, padded;
  uint32_t *valid, *keys;
};

__global__ void attention_mask_kernel(const MaskArguments p) {  // a block a row
  const int64_t row = blockIdx.x;
  const bf16* of_row = p.mask + row * p.row_step;
  const auto masked = [&](int j) { return __bfloat162float(of_row[j * p.position_step]) < 0.5f; };
  int any = 0;
  for (int j = threadIdx.x; j < p.positions; j += blockDim.x) any |= !masked(j);
  any = __syncthreads_or(any);
  uint32_t* words = p.valid + row * valid_words(p.padded);
  for (int j = threadIdx.x; j < p.padded + 64; j += blockDim.x) {  // whole warps
    const uint32_t word = __ballot_sync(~0u, j < p.positions && (!any || !masked(j)));
    if (j % 32 != 0) continue;
    words[j / 32] = word;
    if (any && word != 0) atomicOr(p.keys + j / 32, word);
  }
}

__global__ void bias_fragments_kernel(const bf16* bias, int n, int padded, bf16* direct, bf16* transposed) {
  const int blocks = padded / 16;
  const int64_t index = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= int64_t{kHeads} * blocks * blocks * 32) return;
  const int lane = index % 32, b = index / 32 % blocks, a = index / 32 / blocks % blocks,
            h = index / 32 / blocks / blocks, g = lane / 4, t = lane % 4;
  const bf16* of_head = bias + static_cast<int64_t>(h) * n * n;
  const bf16 never = __float2bfloat16(-INFINITY), nothing = 0.0f;
  // keys beyond the end are silenced here, queries beyond the end by their logs
  __align__(16) bf16 x[8], y[8];
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    const int row = a * 16 + g + ((e >> 1) & 1) * 8, column = b * 16 + 2 * t + (e & 1) + (e >> 2) * 8;
    const bool inside = row < n && column < n;
    x[e] = column >= n ? never : inside ? of_head[static_cast<int64_t>(row) * n + column] : nothing;
    if (transposed) y[e] = row >= n ? never : inside ? of_head[static_cast<int64_t>(column) * n + row] : nothing;
  }
  const int64_t at = fragment_offset(padded, h, a, b) + lane * 8;
  *reinterpret_cast<uint4*>(direct + at) = *reinterpret_cast<uint4*>(x);
  if (transposed) *reinterpret_cast<uint4*>(transposed + at) = *reinterpret_cast<uint4*>(y);
}

__global__ void shift_kernel(const bf16* bias, const uint32_t* keys, int n, int padded,
                             float* shift) {  // a warp a query
  const int query = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (query >= kHeads * padded) return;
  const int h = query / padded, i = query % padded;
  float most = -INFINITY;
  if (i < n)
    for (int j = lane; j < n; j += 32)
      if ((keys[j / 32] >> lane) & 1)
        most = fmaxf(most, __bfloat162float(bias[(static_cast<int64_t>(h) * n + i) * n + j]));
  for (int s = 16; s > 0; s /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, s));
  if (lane == 0) shift[query] = most == -INFINITY ? 0.0f : most * kLog2E;
}

}  // namespace

void prepare_attention_weights(const void* q, const void* k, const void* v, const void* g, const void* o,
                               const void* linear, void* image, void* stream) {
  const auto of = [](const void* p) { return static_cast<const bf16*>(p); };
  prepare_attention_kernel<<<kAttentionImageBytes / 2 / 256, 256, 0, static_cast<cudaStream_t>(stream)>>>(
      of(q), of(k), of(v), of(g), of(o), of(linear), static_cast<char*>(image));
  check(cudaGetLastError(), "prepare_attention_weights");
}

void attention_mask(const void* mask, int64_t row_step, int64_t position_step, int64_t rows, int positions,
                    uint32_t* valid, uint32_t* keys, void* stream) {
  if (rows <= 0) return;
  const MaskArguments p{static_cast<const bf16*>(mask), row_step, position_step, positions,
                        padded_positions(positions),    valid,    keys};
  attention_mask_kernel<<<static_cast<unsigned>(rows), 128, 0, static_cast<cudaStream_t>(stream)>>>(p);
  check(cudaGetLastError(), "attention_mask");
}

void attention_bias_fragments(const void* bias, const uint32_t* keys, int positions, void* fragments, void* transposed,
                              float* shift, void* stream) {
  const int padded = padded_positions(positions);
  const int64_t threads = int64_t{kHeads} * (padded / 16) * (padded / 16) * 32;
  const auto s = static_cast<cudaStream_t>(stream);
  const auto* from = static_cast<const bf16*>(bias);
  bias_fragments_kernel<<<static_cast<unsigned>((threads + 255) / 256), 256, 0, s>>>(
      from, positions, padded, static_cast<bf16*>(fragments), static_cast<bf16*>(transposed));
  check(cudaGetLastError(), "attention_bias_fragments");
  if (shift == nullptr) return;
  shift_kernel<<<kHeads * padded * 32 / 256, 256, 0, s>>>(from, keys, positions, padded, shift);
  check(cudaGetLastError(), "attention_bias_fragments: shift");
}

}  // namespace cpize::trunk::cuda
