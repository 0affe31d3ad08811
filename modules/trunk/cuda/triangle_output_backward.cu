// Backward of the output projection. With n_z, n_o the normalised rows, v = g_out n_z, s = sigmoid(v), t = p_out n_o:
//   dt = dy s,  dv = dy t s (1 - s),  dn_o = dt p_out,  dn_z (the gate's share) = dv g_out,  do = norm_out's adjoint.
// dt and dv are written as operands of the weight sums and read back as operands of the next product (from L2, by the
// thread that wrote them), which leaves registers for a third warpgroup; the weight images serve both ways.
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
  const bf16 *dy, *rows;
  Channels sums;
  const void* image;
  TriangleNorm norm_in, norm_out;
  bf16 *dnormed, *dt, *dv, *normed_out, *normed_in;
  int64_t begin, size;  // dy, rows, dnormed, sums: whole; dt .. normed_in: of the panel
};

__global__ void __launch_bounds__(kGroups * 128, 1) output_backward_kernel(const Arguments p) {
  extern __shared__ __align__(1024) char shared[];
  float* norm_in = reinterpret_cast<float*>(shared + kOutputImageBytes);
  float* norm_out = norm_in + 2 * kChannels;
  const int group = threadIdx.x / 128, t = lane() % 4;
  char* stages = shared + kOutputImageBytes + kNorms + group * 2 * kStage;
  load_image(shared, p.image, kOutputImageBytes);
  load_norm(norm_in, p.norm_in.weight, p.norm_in.bias, true);
  load_norm(norm_out, p.norm_out.weight, p.norm_out.bias, false);
  __syncthreads();
  const uint32_t image = shared_address(shared);

  // Tiles of the panel; positions below are counted from the panel's begin, tensors that are whole are shifted.
  const bf16 *dy = p.dy + p.begin * kChannels, *rows = p.rows + p.begin * kChannels;
  bf16* dnormed = p.dnormed + p.begin * kChannels;
  const int64_t tiles = (p.size + kTile - 1) / kTile, step = static_cast<int64_t>(gridDim.x) * kGroups;
  int64_t tile = static_cast<int64_t>(blockIdx.x) * kGroups + group;
  if (tile < tiles) load_stage<kChannels>(stages, p.sums, 0, p.begin, tile * kTile, p.size);
  for (int turn = 0; tile < tiles; tile += step, turn ^= 1) {
    char* stage = stages + turn * kStage;
    if (tile + step < tiles) {
      load_stage<kChannels>(stages + (turn ^ 1) * kStage, p.sums, 0, p.begin, (tile + step) * kTile, p.size);
      prefetch_rows(rows, tile + step, p.size);
      prefetch_rows(dy, tile + step, p.size);
      wait_stage<1>();
    } else {
      wait_stage<0>();
    }
    const int64_t first = first_row(tile);
    RowStatistics of_o[2];
    // rows past the end hold zeros: they are written too, so that the panel's sums may run over whole tiles
    const int64_t whole = (p.size + kTile - 1) / kTile * kTile;
    {
      RowFragment z, o;
      group_barrier();
      read_stage(o, stage);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        of_o[h] = statistics_of(o, h, p.norm_out.epsilon);
        standardise(o, h, of_o[h]);
      }
      store_extended(o, p.normed_out, first, p.size);
      scale_and_shift(o, norm_out, norm_out + kChannels);
      touch(o);  // one after the other, or the registers would not do
      load_rows(z, rows, here(first), p.size);
#pragma unroll
      for (int h = 0; h < 2; ++h) standardise(z, h, statistics_of(z, h, p.norm_in.epsilon));
      store_extended(z, p.normed_in, first, p.size);
      scale_and_shift(z, norm_in, norm_in + kChannels);
#pragma unroll 1
      for (int part = 0; part < 4; ++part) {  // 32 channels each
        float value[16], gate[16];
        const uint32_t p_out = here(image) + part * 32 * 128, g_out = p_out + kImage;
        touch(o);
        touch(z);
        touch(value);
        touch(gate);
        begin_products();
#pragma unroll
        for (int s = 0; s < 8; ++s) {
          multiply<0>(value, o[s], weights_by_row(p_out, kChannels, 0, s), s > 0);
          multiply<0>(gate, z[s], weights_by_row(g_out, kChannels, 0, s), s > 0);
        }
        end_products();
        touch(value);
        touch(gate);
        uint4 g[2];  // dy
#pragma unroll
        for (int h = 0; h < 2; ++h)
          g[h] = first + 8 * h < p.size
                     ? __ldg(reinterpret_cast<const uint4*>(dy + (first + 8 * h) * kChannels + part * 32 + 8 * t))
                     : uint4{0, 0, 0, 0};
        uint32_t dt[2][4], dv[2][4];
#pragma unroll
        for (int b = 0; b < 4; ++b)
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const uint32_t pair = b == 0 ? g[h].x : b == 1 ? g[h].y : b == 2 ? g[h].z : g[h].w;
            const float s0 = sigmoid(gate[4 * b + 2 * h]), s1 = sigmoid(gate[4 * b + 2 * h + 1]);
            const float d0 = low(pair) * s0, d1 = high(pair) * s1;
            dt[b / 2][h + 2 * (b % 2)] = pack(d0, d1);
            dv[b / 2][h + 2 * (b % 2)] =
                pack(d0 * value[4 * b + 2 * h] * (1 - s0), d1 * value[4 * b + 2 * h + 1] * (1 - s1));
          }
        store_rows(dt, p.dt + part * 32, kChannels, first, whole);
        store_rows(dv, p.dv + part * 32, kChannels, first, whole);
      }
    }
    RowFragment operand;
    load_rows<true>(operand, p.dt, first, whole);
    float c[64];
    const uint32_t p_out = here(image), g_out = p_out + kImage;
    touch(operand);
    touch(c);
    begin_products();
#pragma unroll
    for (int s = 0; s < 8; ++s) multiply<1>(c, operand[s], weights_by_column(p_out, kChannels, 16 * s), s > 0);
    end_products();
    touch(c);
    {
      RowFragment o;
      read_stage(o, stage);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        standardise(o, h, of_o[h]);
        norm_adjoint(c, o, h, of_o[h].rstd, norm_out);
        pack_sums(o, c, h);
        one_at_a_time();
      }
      __syncwarp();
      write_stage(o, stage);  // over this warp's own positions
    }
    group_barrier();
    store_stage<kChannels>(stage, p.sums, 0, p.begin, tile * kTile, p.size);  // over what this tile has read

    load_rows<true>(operand, p.dv, first, whole);
    touch(operand);
    touch(c);
    begin_products();
#pragma unroll
    for (int s = 0; s < 8; ++s) multiply<1>(c, operand[s], weights_by_column(g_out, kChannels, 16 * s), s > 0);
    end_products();
    touch(c);
#pragma unroll
    for (int h = 0; h < 2; ++h) pack_sums(operand, c, h);
    store_rows(operand, dnormed, kChannels, first, p.size);
    group_barrier();  // the stage is free for the next load
  }
}

}  // namespace

void triangle_output_backward(const void* dy, const ChannelMemory& sums, const void* rows, const void* output_image,
                              const TriangleNorm& norm_in, const TriangleNorm& norm_out, void* dnormed,
                              const OutputOperands& operands, const TrianglePositions& at, void* stream) {
  const Arguments p{static_cast<const bf16*>(dy),
                    static_cast<const bf16*>(rows),
                    Channels::of(sums, at.count, at.count),
                    output_image,
                    norm_in,
                    norm_out,
                    static_cast<bf16*>(dnormed),
                    static_cast<bf16*>(operands.dt),
                    static_cast<bf16*>(operands.dv),
                    static_cast<bf16*>(operands.normed_out),
                    static_cast<bf16*>(operands.normed_in),
                    at.begin,
                    at.size};
  launch("triangle_output_backward", output_backward_kernel, (at.size + kGroups * kTile - 1) / (kGroups * kTile),
         kGroups * 128, kShared, stream, p);
}

}  // namespace cpize::trunk::cuda
