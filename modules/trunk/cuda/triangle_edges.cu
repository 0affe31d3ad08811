// Forward edges: each warpgroup takes tiles of 64 positions, keeps their normalised rows in registers, and makes the
// 256 edge channels 64 at a time: value and gate in one product of 128 columns, then gate, mask, transpose, write.
#include "trunk/cuda/launch.cuh"
#include "trunk/cuda/tiles.cuh"
#include "trunk/cuda/triangle_kernels.hpp"
#include "trunk/cuda/wgmma.cuh"

namespace cpize::trunk::cuda {
namespace {

constexpr int kGroups = 4, kImageRows = 512, kStage = 64 * kStageRow;
constexpr int kShared = kEdgesImageBytes + 2 * kChannels * 4 + kGroups * 2 * kStage;

struct Arguments {
  const bf16 *rows, *mask;
  const void* image;
  TriangleNorm norm;
  Channels edges;
  int64_t count;
  int first_part, part_step;
};

__global__ void __launch_bounds__(kGroups * 128, 1) edges_kernel(const Arguments p) {
  extern __shared__ __align__(1024) char shared[];
  char* image = shared;
  float* norm = reinterpret_cast<float*>(shared + kEdgesImageBytes);
  const int group = threadIdx.x / 128;
  char* stages = shared + kEdgesImageBytes + 2 * kChannels * 4 + group * 2 * kStage;
  load_image(image, p.image, kEdgesImageBytes);
  load_norm(norm, p.norm.weight, p.norm.bias, true);
  __syncthreads();
  const uint32_t weights = shared_address(image);

  const int64_t tiles = (p.count + kTile - 1) / kTile, step = static_cast<int64_t>(gridDim.x) * kGroups;
  int turn = 0;
  for (int64_t tile = static_cast<int64_t>(blockIdx.x) * kGroups + group; tile < tiles; tile += step) {
    const int64_t first = first_row(tile);
    RowFragment x;
    load_rows(x, p.rows, first, p.count);
    if (tile + step < tiles) prefetch_rows(p.rows, tile + step, p.count);
    float mask[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      mask[h] = first + 8 * h < p.count ? __bfloat162float(p.mask[first + 8 * h]) : 0.0f;
      normalise(x, h, statistics_of(x, h, p.norm.epsilon), norm, norm + kChannels);
    }
#pragma unroll 1
    for (int part = p.first_part; part < 4; part += p.part_step, turn ^= 1) {  // 64 channels: of a, a, b, b
      float c[64];
      touch(x);
      touch(c);
      begin_products();
#pragma unroll
      for (int s = 0; s < 8; ++s) multiply<0>(c, x[s], weights_by_row(weights, kImageRows, part * 128, s), s > 0);
      end_products();
      touch(c);
      uint32_t out[4][4];
#pragma unroll
      for (int b = 0; b < 8; ++b)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int at = 32 * (b / 4) + 4 * (b % 4) + 2 * h;  // of the value; its gate lies 16 further
          const float v0 = c[at] * sigmoid(c[at + 16]) * mask[h];
          const float v1 = c[at + 1] * sigmoid(c[at + 17]) * mask[h];
          out[b / 2][h + 2 * (b % 2)] = pack(v0, v1);
        }
      char* stage = stages + turn * kStage;
      write_stage(out, stage);
      group_barrier();  // the other stage's readers are done as well: they came here after reading it
      store_stage<64>(stage, p.edges, (part % 2) * 64, (part / 2) * p.count, tile * kTile, p.count);
    }
  }
}

}  // namespace

void triangle_edges(const void* rows, const void* mask, const void* edges_image, const TriangleNorm& norm_in,
                    const ChannelMemory& edges, ChannelHalves halves, int64_t count, void* stream) {
  const Arguments p{static_cast<const bf16*>(rows),
                    static_cast<const bf16*>(mask),
                    edges_image,
                    norm_in,
                    Channels::of(edges, 2 * count, count),
                    count,
                    halves == ChannelHalves::second ? 1 : 0,
                    halves == ChannelHalves::both ? 1 : 2};
  launch("triangle_edges", edges_kernel, (count + kGroups * kTile - 1) / (kGroups * kTile), kGroups * 128, kShared,
         stream, p);
}

}  // namespace cpize::trunk::cuda
