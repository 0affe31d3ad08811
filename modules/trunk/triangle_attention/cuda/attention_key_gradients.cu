// Gradients of k and v. A block takes 128 keys of two rows of a head, each warpgroup 64 of one row, and walks over the
// queries 64 at a time with scores transposed, [keys x queries]: p = exp(score - log of the sum), ds = p (do . v -
// delta),
//   dv = p do,  dk = ds q / sqrt(d).
#include "trunk/cuda/launch.cuh"
#include "trunk/triangle_attention/cuda/ring.cuh"
#include "trunk/triangle_attention/cuda/scores.cuh"

namespace cpize::trunk::cuda {
namespace {

using bf16 = __nv_bfloat16;

constexpr int kBlocks = 2, kRows = 2, kSlots = 5;
constexpr int kBiasAt = kRows * kQueryGradientBlock, kStage = kBiasAt + kBlocks * kBiasTile;

using KeyRing = Ring<kSlots, kStage>;
constexpr int kOwn = 4 * kKeyBlock;  // behind the ring: each warpgroup's keys

__global__ void __launch_bounds__(512, 1) attention_key_gradients_kernel(const AttentionPanel p, bf16* gradients) {
  extern __shared__ char shared[];
  KeyRing ring(shared);
  const uint32_t own = ring.stages + kSlots * kStage + 1024 + ring.group * kKeyBlock;
  const uint32_t own_barrier = ring.barriers + kSlots * 16 + ring.group * 8;
  uint32_t own_parity = 0;
  const uint32_t ones = ring.stages + kSlots * kStage + 1024 + kOwn;
  store_ones(const_cast<char*>(ring.raw) + (ones - ring.raw_address), false);
  store_ones(const_cast<char*>(ring.raw) + (ones + kOnesBytes - ring.raw_address), true);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (threadIdx.x == 0)
    for (int k = 0; k < 4; ++k) init_barrier(ring.barriers + kSlots * 16 + k * 8, 1);
  const int blocks = (p.positions + kBlocks * 64 - 1) / (kBlocks * 64), row_groups = (p.rows + kRows - 1) / kRows;
  const int items = blocks * row_groups * kHeads, stages = stages_of(p.positions), tiles = p.padded / 64;
  const auto fill = [&](int slot, int stage, const AttentionItem& item) {
    const uint32_t to = ring.stages + slot * kStage, barrier = ring.full(slot);
    expect_bytes(barrier, (ring.part < kRows ? kQueryGradientBlock : 0) + (ring.part == 3 ? kBlocks * kBiasTile : 0));
    if (ring.part < kRows) {
      const int row = min(item.rows * kRows + ring.part, p.rows - 1);
      copy_block(to + ring.part * kQueryGradientBlock,
                 image_block(p.queries, row, item.head, tiles, stage, kQueryGradientBlock), kQueryGradientBlock,
                 barrier);
    }
    if (ring.part == 3)
      copy_block(to + kBiasAt,
                 static_cast<const bf16*>(p.bias_transposed) +
                     fragment_offset(p.padded, item.head, item.block * kBlocks * 4, stage * 4),
                 kBlocks * kBiasTile, barrier);
  };
  ring.start(static_cast<int>(blockIdx.x) < items, AttentionItem::of(blockIdx.x, blocks, row_groups), fill);

  const int lane = threadIdx.x & 31, g8 = lane >> 2, t = lane & 3;
  const int block_of_group = ring.group % kBlocks, row_of_group = ring.group / kBlocks;
  const uint32_t bias_at = kBiasAt + block_of_group * kBiasTile + (ring.part * 128 + lane) * 16;
  const uint32_t queries_at = row_of_group * kQueryGradientBlock;
  for (int w = blockIdx.x; w < items; w += gridDim.x) {
    const AttentionItem item = AttentionItem::of(w, blocks, row_groups);
    const bool more = w + static_cast<int>(gridDim.x) < items;
    const AttentionItem next = AttentionItem::of(min(w + static_cast<int>(gridDim.x), items - 1), blocks, row_groups);
    const int tile = item.block * kBlocks + block_of_group, first = tile * 64 + ring.part * 16 + g8;
    const int row = min(item.rows * kRows + row_of_group, p.rows - 1);
    uint32_t weights[2][4] = {}, ds[2][4] = {}, k[2][4], v[2][4];
    float dk[16], dv[16], s[16], x[16];
    asm volatile("bar.sync %0, 128;" ::"r"(1 + ring.group) : "memory");
    if ((threadIdx.x & 127) == 0) {
      expect_bytes(own_barrier, kKeyBlock);
      copy_block(own, image_block(p.keys, row, item.head, tiles, tile, kKeyBlock), kKeyBlock, own_barrier);
    }
    __syncwarp();
    wait_barrier(own_barrier, own_parity);
    own_parity ^= 1;
    const auto load_own = [&](uint32_t(&a)[2][4], uint32_t tile) {
#pragma unroll
      for (int h = 0; h < 2; ++h)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a[h][0]), "=r"(a[h][1]), "=r"(a[h][2]), "=r"(a[h][3])
                     : "r"(tile + tile_offset(ring.part * 16 + (lane & 15), h * 2 + (lane >> 4))));
    };
    load_own(k, own);
    load_own(v, own + kTileBytes);
#pragma unroll
    for (int c = 0; c < 16; ++c) dk[c] = dv[c] = 0.0f;
    ring.wait(ring.place);
    {
      const uint32_t at = ring.stage(ring.place), q = tile_place(at + queries_at);
      float b[16];
      unpack(b, ring.read<uint4>(at + bias_at));
      unpack(b + 8, ring.read<uint4>(at + bias_at + 512));
#pragma unroll
      for (int c = 0; c < 16; ++c) s[c] = b[c] * kLog2E;
      touch(s);
      touch(dk);
      touch(dv);
      begin_products();
      multiply<0>(s, k[0], tile_at(q), 1);
      multiply<0>(x, v[0], tile_at(q + 256), 0);
      multiply<0>(s, k[1], tile_at(q + 2), 1);
      multiply<0>(x, v[1], tile_at(q + 258), 1);
      multiply_shared<0>(s, shifts_at(tile_place(ones)), shifts_at(q + kShiftsAt / 16), 1);
      multiply_shared<0>(x, shifts_at(tile_place(ones + kOnesBytes)), shifts_at(q + kShiftsAt / 16), 1);
      commit_products();
    }
    for (int stage = 0; stage < stages; ++stage) {
      const uint32_t at = ring.stage(ring.place), here = tile_place(at + queries_at);
      const bool last_stage = stage + 1 == stages;
      const auto after = ring.following(last_stage);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (half) ring.wait(after);
        const uint32_t at1 = half ? ring.stage(after) : at;
        wait_products<0>();
        touch(s);
        touch(x);
        touch(weights);
        touch(ds);
        if (half == 0) ring.release();
        float b[16];
        unpack(b, ring.read<uint4>(at1 + bias_at + (1 - half) * 1024));
        unpack(b + 8, ring.read<uint4>(at1 + bias_at + (1 - half) * 1024 + 512));
#pragma unroll
        for (int c = 0; c < 16; c += 2) {
          const float e0 = exp2_of(s[c]), e1 = exp2_of(s[c + 1]);
          weights[c >> 3][(c >> 1) & 3] = pack(e0, e1);
          ds[c >> 3][(c >> 1) & 3] = pack(e0 * x[c], e1 * x[c + 1]);
          s[c] = b[c] * kLog2E;
          s[c + 1] = b[c + 1] * kLog2E;
        }
        const uint32_t q = here + half * 128, q1 = tile_place(at1 + queries_at) + (1 - half) * 128;
        touch(s);
        touch(weights);
        touch(ds);
        begin_products();
        multiply<0>(s, k[0], tile_at(q1), 1);
        multiply<0>(x, v[0], tile_at(q1 + 256), 0);
        multiply<1>(dv, weights[0], tile_at(q + 256), 1);
        multiply<1>(dk, ds[0], tile_at(q), 1);
        multiply<0>(s, k[1], tile_at(q1 + 2), 1);
        multiply<0>(x, v[1], tile_at(q1 + 258), 1);
        multiply<1>(dv, weights[1], tile_at(q + 320), 1);
        multiply<1>(dk, ds[1], tile_at(q + 64), 1);
        const uint32_t shifts = tile_place(at1 + queries_at) + kShiftsAt / 16 + (1 - half) * kShiftsHalf;
        multiply_shared<0>(s, shifts_at(tile_place(ones)), shifts_at(shifts), 1);
        multiply_shared<0>(x, shifts_at(tile_place(ones + kOnesBytes)), shifts_at(shifts), 1);
        commit_products();
        if (half == 0) ring.top_up(stage, stages, more, item, next, fill);
      }
      ring.last = ring.place.slot;
      if (!last_stage) ring.place = after;
    }
    wait_products<0>();
    touch(s);
    touch(x);
    touch(dk);
    touch(dv);
    ring.finish_item();
    if (item.rows * kRows + row_of_group >= p.rows) continue;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int j = first + e * 8;
      if (j >= p.positions) continue;
      // scores of masked keys are not masked here: they concern only these two rows, which are zero anyway
      const bool valid = (p.valid[static_cast<int64_t>(row) * valid_words(p.padded) + j / 32] >> (j & 31)) & 1;
      auto* to = reinterpret_cast<uint32_t*>(
          gradients + (static_cast<int64_t>(row) * p.positions + j) * kGradientColumns + item.head * kHeadWidth);
#pragma unroll
      for (int d = 0; d < 4; ++d) {  // q is scaled by log2(e) / sqrt(d): dk wants 1 / sqrt(d)
        to[kOfKeys / 2 + d * 4 + t] = valid ? pack(dk[d * 4 + e * 2] * kLn2, dk[d * 4 + e * 2 + 1] * kLn2) : 0u;
        to[kOfValues / 2 + d * 4 + t] = valid ? pack(dv[d * 4 + e * 2], dv[d * 4 + e * 2 + 1]) : 0u;
      }
    }
  }
}

}  // namespace

void attention_key_gradients(const AttentionPanel& panel, void* gradients, void* stream) {
  const int64_t items =
      int64_t{kHeads} * ((panel.positions + kBlocks * 64 - 1) / (kBlocks * 64)) * ((panel.rows + kRows - 1) / kRows);
  launch("attention_key_gradients", attention_key_gradients_kernel, items, 512,
         KeyRing::kShared + kOwn + 2 * kOnesBytes, stream, panel, static_cast<bf16*>(gradients));
}

}  // namespace cpize::trunk::cuda
