// Forward output: tiles of 64 positions; the sums come in channel-first through a double stage, z row by row.
#include "trunk/cuda/launch.cuh"
#include "trunk/cuda/tiles.cuh"
#include "trunk/cuda/triangle_kernels.hpp"
#include "trunk/cuda/wgmma.cuh"

namespace cpize::trunk::cuda {
namespace {

constexpr int kGroups = 3, kImage = kOutputImageBytes / 2, kStage = kChannels * kStageRow;
constexpr int kNorms = 4 * kChannels * 4;
constexpr int kShared = kOutputImageBytes + kNorms + kGroups * 2 * kStage;

struct Arguments {
  Channels sums;
  const bf16* rows;
  const void* image;
  TriangleNorm norm_in, norm_out;
  bf16* y;
  int64_t count;
  bool residual;
};

__global__ void __launch_bounds__(kGroups * 128, 1) output_kernel(const Arguments p) {
  extern __shared__ __align__(1024) char shared[];
  float* norm_in = reinterpret_cast<float*>(shared + kOutputImageBytes);
  float* norm_out = norm_in + 2 * kChannels;
  const int group = threadIdx.x / 128;
  char* stages = shared + kOutputImageBytes + kNorms + group * 2 * kStage;
  load_image(shared, p.image, kOutputImageBytes);
  load_norm(norm_in, p.norm_in.weight, p.norm_in.bias, true);
  load_norm(norm_out, p.norm_out.weight, p.norm_out.bias, false);
  __syncthreads();
  const uint32_t p_out = shared_address(shared), g_out = p_out + kImage;

  const int64_t tiles = (p.count + kTile - 1) / kTile, step = static_cast<int64_t>(gridDim.x) * kGroups;
  int64_t tile = static_cast<int64_t>(blockIdx.x) * kGroups + group;
  if (tile < tiles) load_stage<kChannels>(stages, p.sums, 0, 0, tile * kTile, p.count);
  for (int turn = 0; tile < tiles; tile += step, turn ^= 1) {
    if (tile + step < tiles) {
      load_stage<kChannels>(stages + (turn ^ 1) * kStage, p.sums, 0, 0, (tile + step) * kTile, p.count);
      prefetch_rows(p.rows, tile + step, p.count);
      wait_stage<1>();
    } else {
      wait_stage<0>();
    }
    const int64_t first = first_row(tile);
    RowFragment z, o;
    load_rows(z, p.rows, first, p.count);
    group_barrier();
    read_stage(o, stages + turn * kStage);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      normalise(o, h, statistics_of(o, h, p.norm_out.epsilon), norm_out, norm_out + kChannels);
      normalise(z, h, statistics_of(z, h, p.norm_in.epsilon), norm_in, norm_in + kChannels);
    }
    group_barrier();  // the stage is free for the next load
#pragma unroll 1
    for (int part = 0; part < 2; ++part) {
      float value[32], gate[32];
      touch(o);
      touch(z);
      touch(value);
      touch(gate);
      begin_products();
#pragma unroll
      for (int s = 0; s < 8; ++s) {
        multiply<0>(value, o[s], weights_by_row(p_out, kChannels, part * 64, s), s > 0);
        multiply<0>(gate, z[s], weights_by_row(g_out, kChannels, part * 64, s), s > 0);
      }
      end_products();
      touch(value);
      touch(gate);
      uint32_t y[4][4];
#pragma unroll
      for (int i = 0; i < 32; ++i) value[i] *= sigmoid(gate[i]);
      if (p.residual) {
        load_rows(y, p.rows + part * 64, first, p.count);
        add_fragment(value, y);
      }
#pragma unroll
      for (int h = 0; h < 2; ++h) pack_sums(y, value, h);
      store_rows(y, p.y + part * 64, kChannels, first, p.count);
    }
  }
}

}  // namespace

void triangle_output(const ChannelMemory& sums, const void* rows, const void* output_image, const TriangleNorm& norm_in,
                     const TriangleNorm& norm_out, bool residual, void* y, int64_t count, void* stream) {
  const Arguments p{Channels::of(sums, count, count),
                    static_cast<const bf16*>(rows),
                    output_image,
                    norm_in,
                    norm_out,
                    static_cast<bf16*>(y),
                    count,
                    residual};
  launch("triangle_output", output_kernel, (count + kGroups * kTile - 1) / (kGroups * kTile), kGroups * 128, kShared,
         stream, p);
}

}  // namespace cpize::trunk::cuda
