// Normalise and project. One kernel makes the images of q, k and v of a panel, 64 positions of a row a warpgroup; the
// other the four channels of T, which all rows need before the first of them can attend.
#include "trunk/cuda/launch.cuh"
#include "trunk/triangle_attention/cuda/attention_tiles.cuh"
#include "trunk/triangle_attention/cuda/scores.cuh"

namespace cpize::trunk::cuda {
namespace {

constexpr int kGroups = 4, kImageRows = 3 * kChannels, kNorm = 2 * kChannels * 4;
constexpr int kShared = kImageRows * 256 + kNorm;
constexpr int kBiasGroups = 2, kBiasBlocks = 2;  // blocks a multiprocessor
constexpr int kBiasImageRows = 8, kBiasShared = kBiasImageRows * 256 + kNorm + 1024;

struct Arguments {
  PositionRows x;
  const void* image;
  AttentionNorm norm;
  AttentionPanel panel;
};

__global__ void __launch_bounds__(kGroups * 128, 1) attention_projections_kernel(const Arguments a) {
  extern __shared__ __align__(1024) char shared[];
  float* norm = reinterpret_cast<float*>(shared + kImageRows * 256);
  const AttentionPanel& p = a.panel;
  load_image_rows(shared, kImageRows, 0, section(a.image, 0), kInputRows, 0, kImageRows);
  load_norm(norm, a.norm.weight, a.norm.bias, true);
  finish_images();
  __syncthreads();
  const uint32_t weights = shared_address(shared);

  const int group = threadIdx.x / 128, t = lane() % 4, tiles = p.padded / 64;
  const int all = static_cast<int>(p.rows) * tiles, step = static_cast<int>(gridDim.x) * kGroups;
  for (int w = static_cast<int>(blockIdx.x) * kGroups + group; w < all; w += step) {
    const RowTile at = RowTile::of(w, tiles);
    RowFragment x;
    load_positions(x, a.x, at, p.positions);
    normalise(x, a.norm.epsilon, norm, norm + kChannels);
    if (w + step < all) prefetch_positions(a.x, RowTile::of(w + step, tiles), p.positions);
#pragma unroll 1
    for (int part = 0; part < 3; ++part) {
      float c[64];
      const uint32_t of_part = here(weights) + part * kChannels * 128;
      touch(x);
      touch(c);
      begin_products();
#pragma unroll
      for (int s = 0; s < 8; ++s) multiply<0>(c, x[s], weights_by_row(of_part, kImageRows, 0, s), s > 0);
      end_products();
      touch(c);
      const int bytes = part == 0 ? kQueryBlock : kKeyBlock;
      store_heads(c, static_cast<char*>(part == 0 ? p.queries : p.keys) + (part == 2 ? kTileBytes : 0), bytes, at,
                  tiles, p.positions, part == 0 ? kQueryScale : 1.0f);
    }
  }
}

struct BiasArguments {
  PositionRows x;
  const void* image;
  AttentionNorm norm;
  bf16* bias;
  int64_t rows;
  int positions;
};

__global__ void __launch_bounds__(kBiasGroups * 128, kBiasBlocks) attention_bias_kernel(const BiasArguments a) {
  extern __shared__ __align__(1024) char shared[];
  float* norm = reinterpret_cast<float*>(shared + kBiasImageRows * 256);
  load_image_rows(shared, kBiasImageRows, 0, section(a.image, 0), kInputRows, kOfBias, kBiasImageRows);
  load_norm(norm, a.norm.weight, a.norm.bias, true);
  finish_images();
  __syncthreads();
  const uint32_t weights = shared_address(shared);

  const int group = threadIdx.x / 128, t = lane() % 4, tiles = (a.positions + kTile - 1) / kTile;
  const int all = static_cast<int>(a.rows) * tiles, step = static_cast<int>(gridDim.x) * kBiasGroups;
  for (int w = static_cast<int>(blockIdx.x) * kBiasGroups + group; w < all; w += step) {
    const RowTile at = RowTile::of(w, tiles);
    RowFragment x;
    load_positions(x, a.x, at, a.positions);
    normalise(x, a.norm.epsilon, norm, norm + kChannels);
    float c[4];
    touch(x);
    touch(c);
    begin_products();
#pragma unroll
    for (int s = 0; s < 8; ++s) multiply<0>(c, x[s], weights_by_row(weights, kBiasImageRows, 0, s), s > 0);
    end_products();
    touch(c);
    if (2 * t >= kHeads) continue;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int n = at.position() + 8 * h;
      if (n >= a.positions) continue;
      bf16* to = a.bias + (2 * t * a.rows + at.row) * a.positions + n;
      to[0] = __float2bfloat16(c[2 * h]);
      to[a.rows * a.positions] = __float2bfloat16(c[2 * h + 1]);
    }
  }
}

}  // namespace

void attention_projections(const PositionRows& x, const void* image, const AttentionNorm& norm,
                           const AttentionPanel& panel, void* stream) {
  const int64_t tiles = int64_t{panel.rows} * (panel.padded / 64);
  launch("attention_projections", attention_projections_kernel, (tiles + kGroups - 1) / kGroups, kGroups * 128, kShared,
         stream, Arguments{x, image, norm, panel});
}

void attention_bias(const PositionRows& x, int64_t rows, int positions, const void* image, const AttentionNorm& norm,
                    void* bias, void* stream) {
  const int64_t blocks = (rows * ((positions + kTile - 1) / kTile) + kBiasGroups - 1) / kBiasGroups;
  if (blocks <= 0) return;
  const int64_t most = kBiasBlocks * multiprocessors();
  attention_bias_kernel<<<static_cast<unsigned>(blocks < most ? blocks : most), kBiasGroups * 128, kBiasShared,
                          static_cast<cudaStream_t>(stream)>>>(
      BiasArguments{x, image, norm, static_cast<bf16*>(bias), rows, positions});
  check(cudaGetLastError(), "attention_bias");
}

}  // namespace cpize::trunk::cuda
