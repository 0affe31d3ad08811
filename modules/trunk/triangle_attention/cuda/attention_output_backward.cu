// Backward through output projection and gate, and q, k, v once more, in one pass. With s = sigmoid(linear_g n) and
// du = linear_o^T dy:
//   do = du s,   gradient before the sigmoid = du o s (1 - s),   delta = o . do per head.
#include "trunk/cuda/launch.cuh"
#include "trunk/triangle_attention/cuda/attention_tiles.cuh"
#include "trunk/triangle_attention/cuda/scores.cuh"

namespace cpize::trunk::cuda {
namespace {

constexpr int kGroups = 3, kImageRows = 5 * kChannels, kNorm = 2 * kChannels * 4;
constexpr int kShared = kImageRows * 256 + kNorm;

struct Arguments {
  PositionRows x, dy;
  const bf16* o;
  const float* logs;
  const void* image;
  AttentionNorm norm;
  AttentionPanel panel;
  bf16 *gated, *gradients;
};

__global__ void __launch_bounds__(kGroups * 128, 1) attention_output_backward_kernel(const Arguments a) {
  extern __shared__ __align__(1024) char shared[];
  float* norm = reinterpret_cast<float*>(shared + kImageRows * 256);
  const AttentionPanel& p = a.panel;
  load_image_rows(shared, kImageRows, 0, section(a.image, 0), kInputRows, 0, 4 * kChannels);
  load_image_rows(shared, kImageRows, 4 * kChannels, section(a.image, 2), kChannels, 0, kChannels);
  load_norm(norm, a.norm.weight, a.norm.bias, true);
  finish_images();
  __syncthreads();
  const uint32_t weights = shared_address(shared);
  const PositionRows o_rows{const_cast<bf16*>(a.o), int64_t{p.positions} * kChannels, kChannels};

  const int group = threadIdx.x / 128, t = lane() % 4, tiles = p.padded / 64;
  const int all = static_cast<int>(p.rows) * tiles, step = static_cast<int>(gridDim.x) * kGroups;
  for (int w = static_cast<int>(blockIdx.x) * kGroups + group; w < all; w += step) {
    const RowTile at = RowTile::of(w, tiles);
    const int first = at.position(), in_tile = first - at.tile * kTile;
    char* queries = static_cast<char*>(p.queries) + (at.row * kHeads * tiles + at.tile) * kQueryGradientBlock;
    RowFragment x;
    load_positions(x, a.x, at, p.positions);
    if (w + step < all) {
      const RowTile next = RowTile::of(w + step, tiles);
      prefetch_positions(a.x, next, p.positions);
      prefetch_positions(a.dy, next, p.positions);
      prefetch_positions(o_rows, next, p.positions);
    }
    normalise(x, a.norm.epsilon, norm, norm + kChannels);
    {
      RowFragment dy;
      load_positions(dy, a.dy, at, p.positions);
#pragma unroll 1
      for (int head = 0; head < kHeads; ++head) {
        float gate[16], du[16];
        const uint32_t of_head = here(weights) + head * 32 * 128;
        uint4 o[2];
#pragma unroll
        for (int h = 0; h < 2; ++h)
          o[h] = first + 8 * h < p.positions
                     ? __ldg(reinterpret_cast<const uint4*>(a.o + (at.row * p.positions + first + 8 * h) * kChannels +
                                                            head * 32 + 8 * t))
                     : uint4{0, 0, 0, 0};
        touch(x);
        touch(dy);
        touch(gate);
        touch(du);
        begin_products();
#pragma unroll
        for (int s = 0; s < 8; ++s) {
          multiply<0>(gate, x[s], weights_by_row(of_head, kImageRows, 3 * kChannels, s), s > 0);
          multiply<0>(du, dy[s], weights_by_row(of_head, kImageRows, 4 * kChannels, s), s > 0);
        }
        end_products();
        touch(gate);
        touch(du);
        char* block = queries + static_cast<int64_t>(head) * tiles * kQueryGradientBlock;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          uint32_t d_o[4], dg[4], gated[4];
          float delta = 0.0f;
#pragma unroll
          for (int b = 0; b < 4; ++b) {
            const uint32_t pair = pair_of(o[h], b);
            const float s0 = sigmoid(gate[4 * b + 2 * h]), s1 = sigmoid(gate[4 * b + 2 * h + 1]);
            const float d0 = du[4 * b + 2 * h] * s0, d1 = du[4 * b + 2 * h + 1] * s1;
            d_o[b] = pack(d0, d1);
            gated[b] = pack(low(pair) * s0, high(pair) * s1);
            dg[b] = pack(d0 * low(pair) * (1 - s0), d1 * high(pair) * (1 - s1));
            delta += low(d_o[b]) * low(pair) + high(d_o[b]) * high(pair);
          }
          delta = sum_of_quad(delta);
          *reinterpret_cast<uint4*>(block + kTileBytes + tile_offset(in_tile + 8 * h, t)) =
              uint4{d_o[0], d_o[1], d_o[2], d_o[3]};
          const int n = first + 8 * h;
          if (t < 2) {  // queries beyond the end have no weight anywhere
            const float log = n < p.positions ? a.logs[(at.row * kHeads + head) * p.positions + n] : 1e30f;
            *reinterpret_cast<uint4*>(block + kShiftsAt + shifts_offset(in_tile + 8 * h, t)) =
                t == 0 ? shift_parts(-log, -delta) : uint4{0, 0, 0, 0};
          }
          if (n < p.positions) {
            const int64_t position = at.row * p.positions + n;
            *reinterpret_cast<uint4*>(a.gated + position * kChannels + head * 32 + 8 * t) =
                uint4{gated[0], gated[1], gated[2], gated[3]};
            *reinterpret_cast<uint4*>(a.gradients + position * kGradientColumns + kOfGate + head * 32 + 8 * t) =
                uint4{dg[0], dg[1], dg[2], dg[3]};
          }
        }
      }
    }
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
      const int bytes = part == 0 ? kQueryGradientBlock : kKeyBlock;
      store_heads(c, static_cast<char*>(part == 0 ? p.queries : p.keys) + (part == 2 ? kTileBytes : 0), bytes, at,
                  tiles, p.positions, part == 0 ? kQueryScale : 1.0f);
    }
  }
}

}  // namespace

void attention_output_backward(const PositionRows& x, const PositionRows& dy, const void* o, const float* logs,
                               const void* image, const AttentionNorm& norm, const AttentionPanel& panel, void* gated,
                               void* gradients, void* stream) {
  const int64_t tiles = int64_t{panel.rows} * (panel.padded / 64);
  launch("attention_output_backward", attention_output_backward_kernel, (tiles + kGroups - 1) / kGroups, kGroups * 128,
         kShared, stream,
         Arguments{x, dy, static_cast<const bf16*>(o), logs, image, norm, panel, static_cast<bf16*>(gated),
                   static_cast<bf16*>(gradients)});
}

}  // namespace cpize::trunk::cuda
