// Gradient of q. A block takes 128 queries of two rows of a head and walks over the keys as the forward does:
//   dq = ds k / sqrt(d),  ds = p (do . v - delta).
#include "trunk/cuda/launch.cuh"
#include "trunk/triangle_attention/cuda/ring.cuh"
#include "trunk/triangle_attention/cuda/scores.cuh"

namespace cpize::trunk::cuda {
namespace {

using bf16 = __nv_bfloat16;

constexpr int kBlocks = 2, kRows = 2, kSlots = 6;
constexpr int kBiasAt = kRows * kKeyBlock, kStage = kBiasAt + kBlocks * kBiasTile;

using QueryRing = Ring<kSlots, kStage>;

__global__ void __launch_bounds__(512, 1) attention_query_gradients_kernel(const AttentionPanel p, bf16* gradients) {
  extern __shared__ char shared[];
  QueryRing ring(shared);
  const uint32_t ones = ring.barriers + 1024;
  store_ones(const_cast<char*>(ring.raw) + (ones - ring.raw_address), true);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  const int blocks = (p.positions + kBlocks * 64 - 1) / (kBlocks * 64), row_groups = (p.rows + kRows - 1) / kRows;
  const int items = blocks * row_groups * kHeads, stages = stages_of(p.positions), tiles = p.padded / 64;
  const auto fill = [&](int slot, int stage, const AttentionItem& item) {
    const uint32_t to = ring.stages + slot * kStage, barrier = ring.full(slot);
    expect_bytes(barrier, (ring.part < kRows ? kKeyBlock : 0) + (ring.part == 3 ? kBlocks * kBiasTile : 0));
    if (ring.part < kRows) {
      const int row = min(item.rows * kRows + ring.part, p.rows - 1);
      copy_block(to + ring.part * kKeyBlock, image_block(p.keys, row, item.head, tiles, stage, kKeyBlock), kKeyBlock,
                 barrier);
    }
    if (ring.part == 3)
      copy_block(
          to + kBiasAt,
          static_cast<const bf16*>(p.bias) + fragment_offset(p.padded, item.head, item.block * kBlocks * 4, stage * 4),
          kBlocks * kBiasTile, barrier);
  };
  ring.start(static_cast<int>(blockIdx.x) < items, AttentionItem::of(blockIdx.x, blocks, row_groups), fill);

  const int lane = threadIdx.x & 31, g8 = lane >> 2, t = lane & 3;
  const int block_of_group = ring.group % kBlocks, row_of_group = ring.group / kBlocks;
  const uint32_t bias_at = kBiasAt + block_of_group * kBiasTile + (ring.part * 128 + lane) * 16;
  const uint32_t keys_at = row_of_group * kKeyBlock;
  for (int w = blockIdx.x; w < items; w += gridDim.x) {
    const AttentionItem item = AttentionItem::of(w, blocks, row_groups);
    const bool more = w + static_cast<int>(gridDim.x) < items;
    const AttentionItem next = AttentionItem::of(min(w + static_cast<int>(gridDim.x), items - 1), blocks, row_groups);
    const int tile = item.block * kBlocks + block_of_group, row_of_tile = ring.part * 16 + g8;
    const int row = min(item.rows * kRows + row_of_group, p.rows - 1);
    uint32_t q[2][4], d_o[2][4], ds[2][4] = {};
    float dq[16], log[2], s[16], x[16];
    uint32_t shifts[4] = {};
    const char* block = image_block(p.queries, row, item.head, tiles, tile, kQueryGradientBlock);
    load_tile_fragment(q, block, ring.part * 16);
    load_tile_fragment(d_o, block + kTileBytes, ring.part * 16);
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const uint4 parts = *reinterpret_cast<const uint4*>(block + kShiftsAt + shifts_offset(row_of_tile + e * 8, 0));
      log[e] = low(parts.x) + high(parts.x) + low(parts.y);
      shifts[e] = t == 0 ? parts.x : t == 1 ? parts.y : t == 2 ? parts.z : 0;
    }
#pragma unroll
    for (int c = 0; c < 16; ++c) dq[c] = 0.0f;
    const auto* valid_of_row =
        reinterpret_cast<const uint2*>(p.valid + static_cast<int64_t>(row) * valid_words(p.padded));
    uint2 valid1 = __ldg(valid_of_row);
    ring.wait(ring.place);
    {
      const uint32_t at = ring.stage(ring.place), k = tile_place(at + keys_at);
      float b[16];
      unpack(b, ring.read<uint4>(at + bias_at));
      unpack(b + 8, ring.read<uint4>(at + bias_at + 512));
#pragma unroll
      for (int c = 0; c < 16; ++c) s[c] = fmaf(b[c], kLog2E, log[(c >> 1) & 1]);
      touch(s);
      touch(dq);
      begin_products();
      multiply<0>(s, q[0], tile_at(k), 1);
      multiply<0>(x, d_o[0], tile_at(k + 256), 0);
      multiply<0>(s, q[1], tile_at(k + 2), 1);
      multiply<0>(x, d_o[1], tile_at(k + 258), 1);
      multiply<0>(x, shifts, shifts_at(tile_place(ones)), 1);
      commit_products();
    }
    for (int stage = 0; stage < stages; ++stage) {
      const uint32_t at = ring.stage(ring.place), here = tile_place(at + keys_at);
      const bool last_stage = stage + 1 == stages;
      const auto after = ring.following(last_stage);
      const uint2 valid = valid1;
      valid1 = __ldg(valid_of_row + stage + 1);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (half) ring.wait(after);
        const uint32_t at1 = half ? ring.stage(after) : at;
        wait_products<0>();
        touch(s);
        touch(x);
        touch(ds);
        if (half == 0) ring.release();
        const uint32_t bits = half ? valid.y : valid.x;
        if (bits != ~0u) mask_scores(s, bits);
        float b[16];
        unpack(b, ring.read<uint4>(at1 + bias_at + (1 - half) * 1024));
        unpack(b + 8, ring.read<uint4>(at1 + bias_at + (1 - half) * 1024 + 512));
#pragma unroll
        for (int c = 0; c < 16; c += 2) {
          const int e = (c >> 1) & 1;
          const float e0 = exp2_of(s[c]), e1 = exp2_of(s[c + 1]);
          ds[c >> 3][(c >> 1) & 3] = pack(e0 * x[c], e1 * x[c + 1]);
          s[c] = fmaf(b[c], kLog2E, log[e]);
          s[c + 1] = fmaf(b[c + 1], kLog2E, log[e]);
        }
        const uint32_t k = here + half * 128, k1 = tile_place(at1 + keys_at) + (1 - half) * 128;
        touch(s);
        touch(ds);
        begin_products();
        multiply<0>(s, q[0], tile_at(k1), 1);
        multiply<0>(x, d_o[0], tile_at(k1 + 256), 0);
        multiply<1>(dq, ds[0], tile_at(k), 1);
        multiply<0>(s, q[1], tile_at(k1 + 2), 1);
        multiply<0>(x, d_o[1], tile_at(k1 + 258), 1);
        multiply<0>(x, shifts, shifts_at(tile_place(ones)), 1);
        multiply<1>(dq, ds[1], tile_at(k + 64), 1);
        commit_products();
        if (half == 0) ring.top_up(stage, stages, more, item, next, fill);
      }
      ring.last = ring.place.slot;
      if (!last_stage) ring.place = after;
    }
    wait_products<0>();
    touch(s);
    touch(x);
    touch(dq);
    ring.finish_item();
    if (item.rows * kRows + row_of_group >= p.rows) continue;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int i = tile * 64 + row_of_tile + e * 8;
      if (i >= p.positions) continue;
      auto* to = reinterpret_cast<uint32_t*>(
          gradients + (static_cast<int64_t>(row) * p.positions + i) * kGradientColumns + item.head * kHeadWidth);
#pragma unroll
      for (int d = 0; d < 4; ++d)
        to[d * 4 + t] = pack(dq[d * 4 + e * 2] * kScoreScale, dq[d * 4 + e * 2 + 1] * kScoreScale);
    }
  }
}

}  // namespace

void attention_query_gradients(const AttentionPanel& panel, void* gradients, void* stream) {
  const int64_t items =
      int64_t{kHeads} * ((panel.positions + kBlocks * 64 - 1) / (kBlocks * 64)) * ((panel.rows + kRows - 1) / kRows);
  launch("attention_query_gradients", attention_query_gradients_kernel, items, 512, QueryRing::kShared + kOnesBytes,
         stream, panel, static_cast<bf16*>(gradients));
}

}  // namespace cpize::trunk::cuda
