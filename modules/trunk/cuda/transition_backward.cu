// Backward of the transition. With u = fc1 n, v = fc2 n, s = sigmoid(u), h = u s v and dh = dy fc3:
//   du = dh v s (1 + u (1 - s)),  dv = dh u s,  dn = du fc1 + dv fc2,  dx = norm's adjoint
// 32 hidden channels at a time: made again, differentiated, multiplied back, and written as operands of weight sums.
// dy and the normalised rows wait in shared memory, where the tensor cores read them; the gradient of the normalised
// rows is in registers. (Rows in registers, as forward has them, leave too few for three warpgroups.)
#include "trunk/cuda/launch.cuh"
#include "trunk/cuda/transition_kernels.hpp"
#include "trunk/cuda/weight_ring.cuh"
#include "trunk/cuda/wgmma.cuh"

namespace cpize::trunk::cuda {
namespace {

constexpr int kGroups = 3, kRows = kGroups * kTile, kOfFc3 = 2 * kTransitionSliceHidden * 256;
constexpr int kOperand = kTile * kChannels * 2;  // a tile of rows as an operand in shared memory
using Ring = WeightRing<5, kTransitionSliceBytes, kGroups>;
constexpr int kOperands = kGroups * 2 * kOperand;  // dy, and the normalised rows
constexpr int kShared = kOperands + Ring::kBytes + 2 * kChannels * 4;

struct Arguments {
  const bf16 *dy, *rows;
  const void* image;
  TriangleNorm norm;
  bf16 *dx, *duv, *h, *normed;
  int64_t count;
  int slices;
  bool residual;
};

/// This warpgroup's tile of dy as an operand of the tensor cores. Follow with wait_stage<0>(), a fence of the proxies
/// and group_barrier().
__device__ __forceinline__ void load_gradient(char* to, const bf16* rows, int64_t tile, int64_t count) {
#pragma unroll
  for (int i = threadIdx.x % 128; i < kTile * 16; i += 128) {
    const int row = i / 16, chunk = i % 16;
    char* target = to + image_offset(kTile, row, 8 * chunk);
    if (tile * kTile + row < count)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(target)),
                   "l"(rows + (tile * kTile + row) * kChannels + 8 * chunk)
                   : "memory");
    else
      *reinterpret_cast<uint4*>(target) = uint4{0, 0, 0, 0};
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// A fragment as an operand in shared memory.
__device__ __forceinline__ void write_operand(char* to, const RowFragment& x) {
  const int matrix = lane() / 8, row = warp_of_group() * 16 + 8 * (matrix % 2) + lane() % 8;
#pragma unroll
  for (int s = 0; s < 8; ++s)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     shared_address(to) + image_offset(kTile, row, 16 * s + 8 * (matrix / 2))),
                 "r"(x[s][0]), "r"(x[s][1]), "r"(x[s][2]), "r"(x[s][3])
                 : "memory");
}

__global__ void __launch_bounds__(kGroups * 128, 1) transition_backward_kernel(const Arguments p) {
  extern __shared__ __align__(1024) char shared[];
  float* norm = reinterpret_cast<float*>(shared + kOperands + Ring::kBytes);
  const int group = __shfl_sync(~0u, threadIdx.x / 128, 0);  // uniform, so that addresses are as well
  char *gradient = shared + group * 2 * kOperand, *normed = gradient + kOperand;
  load_norm(norm, p.norm.weight, p.norm.bias, true);
  const int64_t blocks = (p.count + kRows - 1) / kRows, whole = (p.count + kTile - 1) / kTile * kTile;
  const Ring ring(shared + kOperands, p.image, p.slices,
                  static_cast<int>((blocks - blockIdx.x + gridDim.x - 1) / gridDim.x) * p.slices);
  const int hidden = p.slices * kTransitionSliceHidden;

  int use = 0;
  for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const int64_t tile = block * kGroups + group, first = first_row(tile);
    const int64_t next = tile + static_cast<int64_t>(gridDim.x) * kGroups;
    load_gradient(gradient, p.dy, tile, p.count);
    prefetch_rows(p.rows, next, p.count);
    prefetch_rows(p.dy, next, p.count);
    float dn[64];
    {
      RowFragment x;
      load_rows(x, p.rows, first, p.count);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        standardise(x, h, statistics_of(x, h, p.norm.epsilon));
      }
      if (tile * kTile < p.count) store_extended(x, p.normed, first, p.count);
      scale_and_shift(x, norm, norm + kChannels);
      write_operand(normed, x);
      wait_stage<0>();
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      group_barrier();
#pragma unroll 1
      for (int part = 0; part < p.slices; ++part, ++use) {
        const uint32_t slice = ring.acquire(use), dy = shared_address(gradient), n = dy + kOperand;
        float c[32], g[16];
        touch(c);
        touch(g);
        begin_products();
#pragma unroll
        for (int s = 0; s < 8; ++s)
          multiply_shared<0>(g, weights_by_row(dy, kTile, 0, s), weights_by_row(slice + kOfFc3, 32, 0, s), s > 0);
#pragma unroll
        for (int s = 0; s < 8; ++s)
          multiply_shared<0>(c, weights_by_row(n, kTile, 0, s), weights_by_row(slice, 64, 0, s), s > 0);
        end_products();
        touch(c);
        touch(g);
        uint32_t du[2][4], dv[2][4], product[2][4];
#pragma unroll
        for (int b = 0; b < 4; ++b)
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            float of_u[2], of_v[2], both[2];
#pragma unroll
            for (int e = 0; e < 2; ++e) {
              const int at = 4 * b + 2 * h + e;
              const float u = c[at], v = c[16 + at], s = sigmoid(u), gate = u * s;
              both[e] = gate * v;
              of_v[e] = g[at] * gate;
              of_u[e] = g[at] * v * fmaf(gate, 1.0f - s, s);
            }
            const int slot = h + 2 * (b % 2);
            du[b / 2][slot] = pack(of_u[0], of_u[1]);
            dv[b / 2][slot] = pack(of_v[0], of_v[1]);
            product[b / 2][slot] = pack(both[0], both[1]);
          }
        store_rows(du, p.duv + part * 64, 2 * hidden, first, whole);
        store_rows(dv, p.duv + part * 64 + 32, 2 * hidden, first, whole);
        store_rows(product, p.h + part * 32, hidden, first, whole);
        touch(du);
        touch(dv);
        touch(dn);
        begin_products();
#pragma unroll
        for (int s = 0; s < 2; ++s) multiply<1>(dn, du[s], weights_by_column(slice, 64, 16 * s), part > 0 || s > 0);
#pragma unroll
        for (int s = 0; s < 2; ++s) multiply<1>(dn, dv[s], weights_by_column(slice, 64, 32 + 16 * s), 1);
        end_products();
        touch(dn);
        ring.release(use);
      }
    }
    group_barrier();  // dy has been read by all: the next tile's may come
    RowFragment n;
    load_rows(n, p.rows, first, p.count);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const RowStatistics statistics = statistics_of(n, h, p.norm.epsilon);
      standardise(n, h, statistics);
      norm_adjoint(dn, n, h, statistics.rstd, norm);
      one_at_a_time();
    }
    if (p.residual) {
      load_rows(n, p.dy, first, p.count);
      add_fragment(dn, n);
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) pack_sums(n, dn, h);
    store_rows(n, p.dx, kChannels, first, p.count);
  }
}

}  // namespace

void transition_backward(const void* dy, const void* rows, const void* image, const TriangleNorm& norm, int hidden,
                         bool residual, void* dx, const TransitionOperands& operands, int64_t count, void* stream) {
  const Arguments p{static_cast<const bf16*>(dy),
                    static_cast<const bf16*>(rows),
                    image,
                    norm,
                    static_cast<bf16*>(dx),
                    static_cast<bf16*>(operands.duv),
                    static_cast<bf16*>(operands.h),
                    static_cast<bf16*>(operands.normed),
                    count,
                    hidden / kTransitionSliceHidden,
                    residual};
  launch("transition_backward", transition_backward_kernel, (count + kRows - 1) / kRows, kGroups * 128, kShared, stream,
         p);
}

}  // namespace cpize::trunk::cuda
