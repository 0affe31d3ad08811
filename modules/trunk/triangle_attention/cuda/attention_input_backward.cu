// Backward of the projections of the normalised rows, and of the norm: dn = [dq dk dv dg] [W_q; W_k; W_v; W_g].
#include "trunk/cuda/launch.cuh"
#include "trunk/triangle_attention/cuda/attention_tiles.cuh"

namespace cpize::trunk::cuda {
namespace {

constexpr int kGroups = 3, kImageRows = kGradientColumns, kNorm = 2 * kChannels * 4;
constexpr int kShared = kImageRows * 256 + kNorm;

struct Arguments {
  PositionRows x, residual, dx;
  bf16* gradients;
  const void* image;
  AttentionNorm norm;
  bf16* normed;
  int rows, positions;
};

__global__ void __launch_bounds__(kGroups * 128, 1) attention_input_backward_kernel(const Arguments p) {
  extern __shared__ __align__(1024) char shared[];
  float* norm = reinterpret_cast<float*>(shared + kImageRows * 256);
  load_image_rows(shared, kImageRows, 0, section(p.image, 0), kInputRows, 0, kImageRows);
  load_norm(norm, p.norm.weight, p.norm.bias, true);
  finish_images();
  __syncthreads();
  const uint32_t weights = shared_address(shared);

  const int group = threadIdx.x / 128, t = lane() % 4, tiles = (p.positions + kTile - 1) / kTile;
  const int all = static_cast<int>(p.rows) * tiles, step = static_cast<int>(gridDim.x) * kGroups;
  for (int w = static_cast<int>(blockIdx.x) * kGroups + group; w < all; w += step) {
    const RowTile at = RowTile::of(w, tiles);
    const int first = at.position();
    const int64_t position = at.row * p.positions + first;
    if (w + step < all) prefetch_positions(p.x, RowTile::of(w + step, tiles), p.positions);
    float dn[64];
#pragma unroll 1
    for (int part = 0; part < 4; ++part) {
      RowFragment g;
      const PositionRows columns{p.gradients + part * kChannels, int64_t{p.positions} * kGradientColumns,
                                 kGradientColumns};
      load_positions(g, columns, at, p.positions);
      const uint32_t of_part = here(weights) + part * kChannels * 128;
      touch(g);
      touch(dn);
      begin_products();
#pragma unroll
      for (int s = 0; s < 8; ++s) multiply<1>(dn, g[s], weights_by_column(of_part, kImageRows, 16 * s), part + s > 0);
      end_products();
      touch(dn);
    }
    RowFragment n;
    load_positions(n, p.x, at, p.positions);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const RowStatistics statistics = statistics_of(n, h, p.norm.epsilon);
      standardise(n, h, statistics);
      const bool there = first + 8 * h < p.positions;
      if (there) {
        bf16* to = p.normed + (position + 8 * h) * kExtended;
#pragma unroll
        for (int m = 0; m < 4; ++m) *reinterpret_cast<uint4*>(to + 32 * m + 8 * t) = channels_of(n, m, h);
        if (t == 0) *reinterpret_cast<uint4*>(to + kChannels) = uint4{pack(1.0f, 0.0f), 0, 0, 0};
      }
      norm_adjoint(dn, n, h, statistics.rstd, norm);
      pack_sums(n, dn, h);
      if (there) {
        bf16* to = position_row(p.dx, at.row, first + 8 * h) + 8 * t;
        const bf16* residual = p.residual.at ? position_row(p.residual, at.row, first + 8 * h) + 8 * t : nullptr;
#pragma unroll
        for (int m = 0; m < 4; ++m) {
          uint4 d = channels_of(n, m, h);
          if (residual) d = plus_row(d, residual + 32 * m);
          *reinterpret_cast<uint4*>(to + 32 * m) = d;
        }
      }
      one_at_a_time();
    }
  }
}

}  // namespace

void attention_input_backward(const PositionRows& x, const void* gradients, const void* image,
                              const AttentionNorm& norm, const PositionRows* residual, const PositionRows& dx,
                              void* normed, int rows, int positions, void* stream) {
  const int64_t tiles = int64_t{rows} * ((positions + kTile - 1) / kTile);
  launch("attention_input_backward", attention_input_backward_kernel, (tiles + kGroups - 1) / kGroups, kGroups * 128,
         kShared, stream,
         Arguments{x, residual ? *residual : PositionRows{}, dx, static_cast<bf16*>(const_cast<void*>(gradients)),
                   image, norm, static_cast<bf16*>(normed), rows, positions});
}

}  // namespace cpize::trunk::cuda
