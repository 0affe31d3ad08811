// y = linear_o( sigmoid(linear_g n) * o ), 64 positions a warpgroup: x and o come in as rows, the gate is made 32
// channels at a time and multiplied into o, which is then the next product's operand.
#include "trunk/cuda/launch.cuh"
#include "trunk/triangle_attention/cuda/attention_tiles.cuh"

namespace cpize::trunk::cuda {
namespace {

constexpr int kGroups = 4, kImageRows = 2 * kChannels, kNorm = 2 * kChannels * 4;
constexpr int kShared = kImageRows * 256 + kNorm;

struct Arguments {
  PositionRows x, y, o;
  const void* image;
  AttentionNorm norm;
  int rows, positions;
  bool residual;
};

__global__ void __launch_bounds__(kGroups * 128, 1) attention_output_kernel(const Arguments p) {
  extern __shared__ __align__(1024) char shared[];
  float* norm = reinterpret_cast<float*>(shared + kImageRows * 256);
  load_image_rows(shared, kImageRows, 0, section(p.image, 0), kInputRows, kOfGate, kChannels);
  load_image_rows(shared, kImageRows, kChannels, section(p.image, 1), kChannels, 0, kChannels);
  load_norm(norm, p.norm.weight, p.norm.bias, true);
  finish_images();
  __syncthreads();
  const uint32_t weights = shared_address(shared);

  const int group = threadIdx.x / 128, t = lane() % 4, tiles = (p.positions + kTile - 1) / kTile;
  const int all = static_cast<int>(p.rows) * tiles, step = static_cast<int>(gridDim.x) * kGroups;
  for (int w = static_cast<int>(blockIdx.x) * kGroups + group; w < all; w += step) {
    const RowTile at = RowTile::of(w, tiles);
    RowFragment o, x;
    load_positions(x, p.x, at, p.positions);
    if (w + step < all) {
      const RowTile next = RowTile::of(w + step, tiles);
      prefetch_positions(p.x, next, p.positions);
      prefetch_positions(p.o, next, p.positions);
    }
    normalise(x, p.norm.epsilon, norm, norm + kChannels);
    load_positions(o, p.o, at, p.positions);
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      float gate[16];
      touch(x);
      touch(gate);
      begin_products();
#pragma unroll
      for (int s = 0; s < 8; ++s) multiply<0>(gate, x[s], weights_by_row(weights, kImageRows, 32 * m, s), s > 0);
      end_products();
      touch(gate);
#pragma unroll
      for (int b = 0; b < 4; ++b)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          uint32_t& pair = o[2 * m + b / 2][h + 2 * (b % 2)];
          pair = pack(low(pair) * sigmoid(gate[4 * b + 2 * h]), high(pair) * sigmoid(gate[4 * b + 2 * h + 1]));
        }
    }
    const int first = at.position();
#pragma unroll 1
    for (int part = 0; part < 2; ++part) {
      float c[32];
      touch(o);
      touch(c);
      begin_products();
#pragma unroll
      for (int s = 0; s < 8; ++s)
        multiply<0>(c, o[s], weights_by_row(weights, kImageRows, kChannels + 64 * part, s), s > 0);
      end_products();
      touch(c);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        if (first + 8 * h >= p.positions) continue;
        bf16* to = position_row(p.y, at.row, first + 8 * h) + 64 * part + 8 * t;
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          const float* of = c + 16 * m + 2 * h;
          uint4 y{pack(of[0], of[1]), pack(of[4], of[5]), pack(of[8], of[9]), pack(of[12], of[13])};
          if (p.residual) y = plus_row(y, position_row(p.x, at.row, first + 8 * h) + 64 * part + 8 * t + 32 * m);
          *reinterpret_cast<uint4*>(to + 32 * m) = y;
        }
      }
    }
  }
}

}  // namespace

void attention_output(const PositionRows& x, const void* o, const void* image, const AttentionNorm& norm, bool residual,
                      const PositionRows& y, int rows, int positions, void* stream) {
  const PositionRows of{const_cast<void*>(o), int64_t{positions} * kChannels, kChannels};
  const int64_t tiles = int64_t{rows} * ((positions + kTile - 1) / kTile);
  launch("attention_output", attention_output_kernel, (tiles + kGroups - 1) / kGroups, kGroups * 128, kShared, stream,
         Arguments{x, y, of, image, norm, rows, positions, residual});
}

}  // namespace cpize::trunk::cuda
