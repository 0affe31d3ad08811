// The share of T in the gradient of x: dn = dT^T W_T, then the norm's adjoint; and sums of dT [n, 1] over positions for
// the gradients of W_T and the norm. Each warpgroup keeps its sums in registers while it walks over tiles: n^T dT is a
// product over positions, for which tiles of n and dT go through shared memory.
#include "trunk/cuda/launch.cuh"
#include "trunk/triangle_attention/cuda/attention_tiles.cuh"

namespace cpize::trunk::cuda {
namespace {

constexpr int kGroups = 3, kImageRows = kInputRows - kOfBias, kNorm = 2 * kChannels * 4, kColumns = kChannels + 1;
constexpr int kNormedTile = kTile * 256, kGradientTile = 8 * 128;  // [64][128], in two panels; [8 heads][64]
constexpr int kStage = kNormedTile + kGradientTile;
constexpr int kShared = kImageRows * 256 + kNorm + kGroups * kStage;
static_assert(kImageRows == 16 && kNorm % 1024 == 0 && kHeads == 4);

struct Arguments {
  PositionRows x, dx;
  const float* dbias;
  const void* image;
  AttentionNorm norm;
  float* sums;
  int64_t rows;
  int positions;
};

__global__ void __launch_bounds__(kGroups * 128, 1) attention_bias_backward_kernel(const Arguments p) {
  extern __shared__ __align__(1024) char shared[];
  float* norm = reinterpret_cast<float*>(shared + kImageRows * 256);
  const int group = threadIdx.x / 128, t = lane() % 4, head = warp_of_group();
  char* normed = shared + kImageRows * 256 + kNorm + group * kStage;
  char* gradients = normed + kNormedTile;
  load_image_rows(shared, kImageRows, 0, section(p.image, 0), kInputRows, kOfBias, kImageRows);
  load_norm(norm, p.norm.weight, p.norm.bias, true);
  for (int i = threadIdx.x % 128; i < kGradientTile / 16; i += 128) reinterpret_cast<uint4*>(gradients)[i] = {};
  finish_images();
  __syncthreads();

  const int tiles = (p.positions + kTile - 1) / kTile;
  const int all = static_cast<int>(p.rows) * tiles, step = static_cast<int>(gridDim.x) * kGroups;
  float sum[2][4] = {}, ones = 0;  // [panel of 64 columns]; of this warp's head
  for (int w = static_cast<int>(blockIdx.x) * kGroups + group; w < all; w += step) {
    const RowTile at = RowTile::of(w, tiles);
    const int first = at.position(), in_tile = first - at.tile * kTile;
    const float* of_row = p.dbias + at.row * p.positions;
    const int64_t head_step = p.rows * p.positions;
    RowFragment n;
    load_positions(n, p.x, at, p.positions);
    // columns 8 b + 2 t .. of row h of this thread
    const auto in_stage = [&](int h, int b) {
      return reinterpret_cast<uint32_t*>(normed + image_offset(kTile, in_tile + 8 * h, 8 * b) + 4 * t);
    };
    if (w + step < all) {
      prefetch_positions(p.x, RowTile::of(w + step, tiles), p.positions);
      prefetch_positions(p.dx, RowTile::of(w + step, tiles), p.positions);
    }
    {
      const int pair = 2 * lane(), at0 = at.tile * kTile + pair;
      const float d0 = at0 < p.positions ? of_row[head * head_step + at0] : 0.0f;
      const float d1 = at0 + 1 < p.positions ? of_row[head * head_step + at0 + 1] : 0.0f;
      const uint32_t both = pack(d0, d1);
      ones += low(both) + high(both);
      *reinterpret_cast<uint32_t*>(gradients + head * 128 + (((pair / 8) ^ head) << 4) + (pair % 8) * 2) = both;
    }
    uint32_t a[1][4] = {};
    if (2 * t < kHeads)
#pragma unroll
      for (int h = 0; h < 2; ++h)
        if (first + 8 * h < p.positions) {
          const float* from = of_row + 2 * t * head_step + first + 8 * h;
          a[0][h] = pack(from[0], from[head_step]);
        }
    float rstd[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const RowStatistics statistics = statistics_of(n, h, p.norm.epsilon);
      rstd[h] = statistics.rstd;
      standardise(n, h, statistics);
#pragma unroll
      for (int b = 0; b < 16; ++b) *in_stage(h, b) = n[b / 2][h + 2 * (b % 2)];
    }
    finish_images();
    group_barrier();
    float dn[64];
    const uint32_t weights = here(shared_address(shared)), n_tile = here(shared_address(normed));
    touch(a);
    touch(dn);
    begin_products();
    multiply<1>(dn, a[0], weights_by_column(weights, kImageRows, 0), 0);
#pragma unroll
    for (int panel = 0; panel < 2; ++panel)
#pragma unroll
      for (int s = 0; s < 4; ++s)
        multiply_transposed(sum[panel], weights_by_column(n_tile + panel * kTile * 128, kTile, 16 * s),
                            weights_by_row(n_tile + kNormedTile, 8, 0, s));
    end_products();
    touch(dn);
    touch(sum[0]);
    touch(sum[1]);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float total = 0, product = 0;
#pragma unroll
      for (int b = 0; b < 16; ++b) {
        const float2 weight = read_here(norm + 8 * b + 2 * t);
        const uint32_t pair = *in_stage(h, b);
        float &d0 = dn[4 * b + 2 * h], &d1 = dn[4 * b + 2 * h + 1];
        d0 *= weight.x;
        d1 *= weight.y;
        total += d0 + d1;
        product += d0 * low(pair) + d1 * high(pair);
      }
      total = sum_of_quad(total) * (1.0f / 128);
      product = sum_of_quad(product) * (1.0f / 128);
      if (first + 8 * h < p.positions) {
        uint4* to = reinterpret_cast<uint4*>(position_row(p.dx, at.row, first + 8 * h)) + t;
#pragma unroll
        for (int m = 0; m < 4; ++m) {
          const uint4 before = to[4 * m];
          uint32_t now[4];
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const int b = 4 * m + k;
            const uint32_t pair = *in_stage(h, b), old = pair_of(before, k);
            now[k] = pack(low(old) + rstd[h] * (dn[4 * b + 2 * h] - total - low(pair) * product),
                          high(old) + rstd[h] * (dn[4 * b + 2 * h + 1] - total - high(pair) * product));
          }
          to[4 * m] = uint4{now[0], now[1], now[2], now[3]};
        }
      }
    }
    group_barrier();  // the stage is free
  }
  float* to = p.sums + (static_cast<int64_t>(blockIdx.x) * kGroups + group) * kHeads * kColumns;
  for (int s = 16; s > 0; s /= 2) ones += __shfl_xor_sync(~0u, ones, s);
  if (lane() == 0) to[head * kColumns + kChannels] = ones;
  if (2 * t >= kHeads) return;
#pragma unroll
  for (int panel = 0; panel < 2; ++panel)
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int column = panel * 64 + warp_of_group() * 16 + lane() / 4 + (c / 2) * 8;
      to[(2 * t + c % 2) * kColumns + channel_of(column)] = sum[panel][c];
    }
}

int64_t blocks_of(int64_t rows, int positions) {
  const int64_t tiles = rows * ((positions + kTile - 1) / kTile), wanted = (tiles + kGroups - 1) / kGroups;
  return wanted < multiprocessors() ? wanted : multiprocessors();
}

}  // namespace

int bias_backward_sums(int64_t rows, int positions) { return static_cast<int>(blocks_of(rows, positions)) * kGroups; }

void attention_bias_backward(const PositionRows& x, const float* dbias, const void* image, const AttentionNorm& norm,
                             const PositionRows& dx, float* sums, int64_t rows, int positions, void* stream) {
  launch("attention_bias_backward", attention_bias_backward_kernel, blocks_of(rows, positions), kGroups * 128, kShared,
         stream, Arguments{x, dx, dbias, image, norm, sums, rows, positions});
}

}  // namespace cpize::trunk::cuda
