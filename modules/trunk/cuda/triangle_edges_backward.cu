// Backward of the input projections. Per edge channel, with u = p_in n, v = g_in n, s = sigmoid(v), g the gradient of
// the edge and m the mask:  du = g m s,  dv = g m u s (1 - s),  dn = du p_in + dv g_in + the gate's share,  dz =
// norm_in's adjoint. 32 edge channels at a time: project again, differentiate, and multiply back before the next 32.
#include "trunk/cuda/launch.cuh"
#include "trunk/cuda/tiles.cuh"
#include "trunk/cuda/triangle_kernels.hpp"
#include "trunk/cuda/wgmma.cuh"

namespace cpize::trunk::cuda {
namespace {

constexpr int kGroups = 3, kImageRows = 512, kStage = 32 * kStageRow, kNorm = 2 * kChannels * 4;
constexpr int kLate = 6;  // part of a tile
constexpr int kShared = kEdgesImageBytes + kNorm + kGroups * 2 * kStage;

struct Arguments {
  Channels dedges;
  const bf16 *rows, *mask, *dnormed, *residual;
  const void* image;
  TriangleNorm norm;
  bf16 *dz, *duv, *normed;
  int64_t count, begin, size;
};

__global__ void __launch_bounds__(kGroups * 128, 1) edges_backward_kernel(const Arguments p) {
  extern __shared__ __align__(1024) char shared[];
  float* norm = reinterpret_cast<float*>(shared + kEdgesImageBytes);
  const int group = threadIdx.x / 128;
  char* stages = shared + kEdgesImageBytes + kNorm + group * 2 * kStage;
  load_image(shared, p.image, kEdgesImageBytes);
  load_norm(norm, p.norm.weight, p.norm.bias, true);
  __syncthreads();
  const uint32_t weights = shared_address(shared);

  const bf16 *rows = p.rows + p.begin * kChannels, *mask_of = p.mask + p.begin;
  const bf16* dnormed = p.dnormed + p.begin * kChannels;
  bf16* dz = p.dz + p.begin * kChannels;
  const int64_t tiles = (p.size + kTile - 1) / kTile, step = static_cast<int64_t>(gridDim.x) * kGroups;
  const int64_t whole = tiles * kTile;
  const auto fetch = [&](int64_t tile, int part) {
    load_stage<32>(stages + (part % 2) * kStage, p.dedges, (part % 4) * 32, (part / 4) * p.count + p.begin,
                   tile * kTile, p.size);
  };
  int64_t tile = static_cast<int64_t>(blockIdx.x) * kGroups + group;
  if (tile < tiles) fetch(tile, 0);
  for (; tile < tiles; tile += step) {
    const int64_t first = first_row(tile);
    RowStatistics statistics[2];
    float mask[2], dn[64] = {};
    {
      RowFragment x;
      load_rows(x, rows, first, p.size);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        mask[h] = first + 8 * h < p.size ? __bfloat162float(mask_of[first + 8 * h]) : 0.0f;
        statistics[h] = statistics_of(x, h, p.norm.epsilon);
        standardise(x, h, statistics[h]);
      }
      store_extended(x, p.normed, first, p.size);
      scale_and_shift(x, norm, norm + kChannels);
#pragma unroll 1
      for (int part = 0; part < 8; ++part) {
        // The stage of the part after this one was read two parts ago, and a barrier lies in between.
        if (part < 7)
          fetch(tile, part + 1);
        else if (tile + step < tiles)
          fetch(tile + step, 0);
        if (part == kLate) {  // not earlier: what is written meanwhile would drive it out of L2 again
          prefetch_rows(p.rows + p.begin * kChannels, here(tile), p.size);
          prefetch_rows(p.dnormed + p.begin * kChannels, here(tile), p.size);
          prefetch_rows(p.rows + p.begin * kChannels, here(tile) + step, p.size);
        }
        float c[32];
        const uint32_t of_part = here(weights) + part * 64 * 128;
        touch(x);
        touch(c);
        begin_products();
#pragma unroll
        for (int s = 0; s < 8; ++s) multiply<0>(c, x[s], weights_by_row(of_part, kImageRows, 0, s), s > 0);
        if (part < 7 || tile + step < tiles)
          wait_stage<1>();
        else
          wait_stage<0>();
        end_products();
        touch(c);
        group_barrier();
        uint32_t du[2][4], dv[2][4];
        read_stage(du, stages + (part % 2) * kStage);
#pragma unroll
        for (int b = 0; b < 4; ++b)
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const int step16 = b / 2, slot = h + 2 * (b % 2);
            const uint32_t pair = du[step16][slot];  // the edge's gradient makes room for du
            const float s0 = sigmoid(c[16 + 4 * b + 2 * h]), s1 = sigmoid(c[16 + 4 * b + 2 * h + 1]);
            const float d0 = low(pair) * mask[h] * s0, d1 = high(pair) * mask[h] * s1;
            du[step16][slot] = pack(d0, d1);
            dv[step16][slot] = pack(d0 * c[4 * b + 2 * h] * (1 - s0), d1 * c[4 * b + 2 * h + 1] * (1 - s1));
          }
        store_rows(du, p.duv + part * 64, kImageRows, first, whole);
        store_rows(dv, p.duv + part * 64 + 32, kImageRows, first, whole);
        touch(du);
        touch(dv);
        touch(dn);
        begin_products();
#pragma unroll
        for (int s = 0; s < 2; ++s) multiply<1>(dn, du[s], weights_by_column(of_part, kImageRows, 16 * s), 1);
#pragma unroll
        for (int s = 0; s < 2; ++s) multiply<1>(dn, dv[s], weights_by_column(of_part, kImageRows, 32 + 16 * s), 1);
        end_products();
        touch(dn);
        group_barrier();
      }
    }
    RowFragment n;
    load_rows(n, dnormed, first, p.size);
    add_fragment(dn, n);  // the gate's share
    load_rows(n, rows, first, p.size);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      standardise(n, h, statistics[h]);
      norm_adjoint(dn, n, h, statistics[h].rstd, norm);
      one_at_a_time();
    }
    if (p.residual != nullptr) {
      load_rows(n, p.residual + p.begin * kChannels, first, p.size);
      add_fragment(dn, n);
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) pack_sums(n, dn, h);
    store_rows(n, dz, kChannels, first, p.size);
  }
}

}  // namespace

void triangle_edges_backward(const ChannelMemory& dedges, const void* rows, const void* mask, const void* dnormed,
                             const void* residual, const void* edges_image, const TriangleNorm& norm_in, void* dz,
                             void* duv, void* normed_in, const TrianglePositions& at, void* stream) {
  const Arguments p{Channels::of(dedges, 2 * at.count, at.count),
                    static_cast<const bf16*>(rows),
                    static_cast<const bf16*>(mask),
                    static_cast<const bf16*>(dnormed),
                    static_cast<const bf16*>(residual),
                    edges_image,
                    norm_in,
                    static_cast<bf16*>(dz),
                    static_cast<bf16*>(duv),
                    static_cast<bf16*>(normed_in),
                    at.count,
                    at.begin,
                    at.size};
  launch("triangle_edges_backward", edges_backward_kernel, (at.size + kGroups * kTile - 1) / (kGroups * kTile),
         kGroups * 128, kShared, stream, p);
}

}  // namespace cpize::trunk::cuda
