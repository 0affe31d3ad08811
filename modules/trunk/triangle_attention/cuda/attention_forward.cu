// Scores, softmax and values. A block takes 128 queries of four rows of a head, each warpgroup 64 of two rows, and
// walks over the keys 64 at a time. No running maximum: scores are shifted by the largest of the query's biases, which
// all rows share, so exp2 leaves the range of fp32 only if q . k is enormous. The sum tells afterwards; such queries
// are done again by a kernel with a running maximum. Either way the result is the softmax.
#include "trunk/cuda/launch.cuh"
#include "trunk/triangle_attention/cuda/ring.cuh"
#include "trunk/triangle_attention/cuda/scores.cuh"

namespace cpize::trunk::cuda {
namespace {

using bf16 = __nv_bfloat16;

constexpr int kBlocks = 2, kGroups = 2, kEach = 2, kRows = kGroups * kEach, kSlots = 4;
constexpr int kBiasAt = kRows * kKeyBlock, kStage = kBiasAt + kBlocks * kBiasTile;
constexpr float kSmallest = 1e-24f, kLargest = 1e30f;

using ForwardRing = Ring<kSlots, kStage>;

struct Arguments {
  AttentionPanel panel;
  bf16* o;
  float* logs;
  int* flags;
};

__global__ void __launch_bounds__(512, 1) attention_forward_kernel(const Arguments a) {
  extern __shared__ char shared[];
  const AttentionPanel& p = a.panel;
  ForwardRing ring(shared);
  const int blocks = (p.positions + kBlocks * 64 - 1) / (kBlocks * 64), row_groups = (p.rows + kRows - 1) / kRows;
  const int items = blocks * row_groups * kHeads, stages = stages_of(p.positions), tiles = p.padded / 64;
  const auto fill = [&](int slot, int stage, const AttentionItem& item) {
    const uint32_t to = ring.stages + slot * kStage, barrier = ring.full(slot);
    expect_bytes(barrier, kKeyBlock + (ring.part == 3 ? kBlocks * kBiasTile : 0));
    const int row = min(item.rows * kRows + ring.part, p.rows - 1);
    copy_block(to + ring.part * kKeyBlock, image_block(p.keys, row, item.head, tiles, stage, kKeyBlock), kKeyBlock,
               barrier);
    if (ring.part == 3)
      copy_block(
          to + kBiasAt,
          static_cast<const bf16*>(p.bias) + fragment_offset(p.padded, item.head, item.block * kBlocks * 4, stage * 4),
          kBlocks * kBiasTile, barrier);
  };
  ring.start(static_cast<int>(blockIdx.x) < items, AttentionItem::of(blockIdx.x, blocks, row_groups), fill);

  const int lane = threadIdx.x & 31, g8 = lane >> 2, t = lane & 3;
  const int block_of_group = ring.group % kBlocks, row_of_group = ring.group / kBlocks * kEach;
  const uint32_t bias_at = kBiasAt + block_of_group * kBiasTile + (ring.part * 128 + lane) * 16;
  for (int w = blockIdx.x; w < items; w += gridDim.x) {
    const AttentionItem item = AttentionItem::of(w, blocks, row_groups);
    const bool more = w + static_cast<int>(gridDim.x) < items;
    const AttentionItem next = AttentionItem::of(min(w + static_cast<int>(gridDim.x), items - 1), blocks, row_groups);
    const int tile = item.block * kBlocks + block_of_group, first = tile * 64 + ring.part * 16 + g8;
    uint32_t q[kEach][2][4], weights[2][4] = {};
    int row[kEach], word[kEach];
    float o[kEach][16], sum[kEach][2], shift[2], s[16];
    uint4 bias[2];  // of the 32 keys at hand
#pragma unroll
    for (int e = 0; e < 2; ++e) shift[e] = -p.shift[item.head * p.padded + first + e * 8];
#pragma unroll
    for (int g = 0; g < kEach; ++g) {
      row[g] = min(item.rows * kRows + row_of_group + g, p.rows - 1);
      word[g] = row[g] * valid_words(p.padded);
      load_tile_fragment(q[g], image_block(p.queries, row[g], item.head, tiles, tile, kQueryBlock), ring.part * 16);
      sum[g][0] = sum[g][1] = 0.0f;
#pragma unroll
      for (int c = 0; c < 16; ++c) o[g][c] = 0.0f;
    }
    ring.wait(ring.place);
    {
      const uint32_t at = ring.stage(ring.place), k = tile_place(at + row_of_group * kKeyBlock);
      float x[16];
      bias[0] = ring.read<uint4>(at + bias_at);
      bias[1] = ring.read<uint4>(at + bias_at + 512);
      unpack(x, bias[0]);
      unpack(x + 8, bias[1]);
#pragma unroll
      for (int c = 0; c < 16; ++c) s[c] = fmaf(x[c], kLog2E, shift[(c >> 1) & 1]);
      touch(s);
#pragma unroll
      for (int g = 0; g < kEach; ++g) touch(o[g]);  // the zeros are there before the pipeline starts
      begin_products();
      multiply<0>(s, q[0][0], tile_at(k), 1);
      multiply<0>(s, q[0][1], tile_at(k + 2), 1);
      commit_products();
    }
    for (int stage = 0; stage < stages; ++stage) {
      const uint32_t at = ring.stage(ring.place), here = tile_place(at + row_of_group * kKeyBlock);
      const bool last_stage = stage + 1 == stages;
      const auto after = ring.following(last_stage);
      uint2 valid[kEach];
#pragma unroll
      for (int g = 0; g < kEach; ++g) valid[g] = __ldg(reinterpret_cast<const uint2*>(p.valid + word[g]) + stage);
#pragma unroll
      for (int step = 0; step < 2 * kEach; ++step) {  // 32 keys of one row
        const int half = step / kEach, g = step % kEach, half1 = (step + 1) / kEach % 2, g1 = (step + 1) % kEach;
        const bool crosses = step == 2 * kEach - 1;
        if (crosses) ring.wait(after);
        const uint32_t at1 = crosses ? ring.stage(after) : at;
        wait_products<0>();
        touch(s);
        touch(weights);
        if (step == 0) ring.release();
        const uint32_t bits = half ? valid[g].y : valid[g].x;
        if (bits != ~0u) mask_scores(s, bits);
        if (g1 == 0) {
          bias[0] = ring.read<uint4>(at1 + bias_at + half1 * 1024);
          bias[1] = ring.read<uint4>(at1 + bias_at + half1 * 1024 + 512);
        }
        float x[16];
        unpack(x, bias[0]);
        unpack(x + 8, bias[1]);
#pragma unroll
        for (int c = 0; c < 16; c += 2) {
          const int e = (c >> 1) & 1;
          const float e0 = exp2_of(s[c]), e1 = exp2_of(s[c + 1]);
          sum[g][e] += e0 + e1;
          weights[c >> 3][(c >> 1) & 3] = pack(e0, e1);
          s[c] = fmaf(x[c], kLog2E, shift[e]);
          s[c + 1] = fmaf(x[c + 1], kLog2E, shift[e]);
        }
        const uint32_t k = tile_place(at1 + row_of_group * kKeyBlock) + g1 * (kKeyBlock / 16) + half1 * 128;
        const uint32_t v = here + g * (kKeyBlock / 16) + half * 128 + kTileBytes / 16;
        touch(s);
        touch(weights);
        begin_products();
        multiply<0>(s, q[g1][0], tile_at(k), 1);
        multiply<1>(o[g], weights[0], tile_at(v), 1);
        multiply<0>(s, q[g1][1], tile_at(k + 2), 1);
        multiply<1>(o[g], weights[1], tile_at(v + 64), 1);
        commit_products();
        if (step == 0) ring.top_up(stage, stages, more, item, next, fill);
      }
      ring.last = ring.place.slot;
      if (!last_stage) ring.place = after;
    }
    wait_products<0>();
    touch(s);
#pragma unroll
    for (int g = 0; g < kEach; ++g) touch(o[g]);
    ring.finish_item();
#pragma unroll
    for (int g = 0; g < kEach; ++g) {
      const bool live = item.rows * kRows + row_of_group + g < p.rows;
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float l = sum_of_quad(sum[g][e]);
        const int i = first + e * 8;
        if (!live || i >= p.positions) continue;
        const bool in_range = l > kSmallest && l < kLargest;
        if (!in_range) a.flags[0] = a.flags[1 + (row[g] * kHeads + item.head) * tiles + tile] = 1;
        const float inverse = 1.0f / l;
        auto* to = reinterpret_cast<uint32_t*>(a.o + (static_cast<int64_t>(row[g]) * p.positions + i) * 128 +
                                               item.head * kHeadWidth);
#pragma unroll
        for (int d = 0; d < 4; ++d)
          to[d * 4 + t] = pack(o[g][d * 4 + e * 2] * inverse, o[g][d * 4 + e * 2 + 1] * inverse);
        if (t == 0)
          a.logs[(static_cast<int64_t>(row[g]) * kHeads + item.head) * p.positions + i] =
              in_range ? log2f(l) - shift[e] : NAN;  // NAN: to be done again
      }
    }
  }
}

/// Queries whose log is NAN, in tiles that are flagged; two threads a query, each taking every other key, in fp32.
__global__ void __launch_bounds__(128) attention_again_kernel(const Arguments a) {
  if (a.flags[0] == 0) return;
  __shared__ uint4 keys[kKeyBlock / 16];
  const AttentionPanel& p = a.panel;
  const int tiles = p.padded / 64, query = threadIdx.x / 2, parity = threadIdx.x % 2;
  const auto chunk = [&](int tile, int row, int c) { return keys[tile * 256 + tile_offset(row, c) / 16]; };
  for (int64_t w = blockIdx.x; w < static_cast<int64_t>(p.rows) * kHeads * tiles; w += gridDim.x) {
    if (a.flags[1 + w] == 0) continue;
    const int tile = w % tiles, head = w / tiles % kHeads, row = w / tiles / kHeads, i = tile * 64 + query;
    float* log = a.logs + (static_cast<int64_t>(row) * kHeads + head) * p.positions + i;
    const bool wanted = i < p.positions && isnan(*log);
    float q[32], o[32], most = -INFINITY, sum = 0;
    const char* query_tile = image_block(p.queries, row, head, tiles, tile, kQueryBlock);
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      unpack(q + 8 * c, *reinterpret_cast<const uint4*>(query_tile + tile_offset(query, c)));
#pragma unroll
      for (int d = 0; d < 8; ++d) o[8 * c + d] = 0;
    }
    for (int kt = 0; kt * 64 < p.positions; ++kt) {
      __syncthreads();
      const auto* from = reinterpret_cast<const uint4*>(image_block(p.keys, row, head, tiles, kt, kKeyBlock));
      for (int n = threadIdx.x; n < kKeyBlock / 16; n += 128) keys[n] = from[n];
      __syncthreads();
      for (int j = parity; wanted && j < 64; j += 2) {
        const int key = kt * 64 + j;
        if (!((p.valid[static_cast<int64_t>(row) * valid_words(p.padded) + key / 32] >> (key % 32)) & 1)) continue;
        const int element = ((i % 8) * 4 + (key % 8) / 2) * 8 + key % 2 + (i % 16 / 8) * 2 + (key % 16 / 8) * 4;
        float s = kLog2E * __bfloat162float(static_cast<const bf16*>(
                               p.bias)[fragment_offset(p.padded, head, i / 16, key / 16) + element]);
        float x[8];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          unpack(x, chunk(0, j, c));
#pragma unroll
          for (int d = 0; d < 8; ++d) s = fmaf(q[8 * c + d], x[d], s);
        }
        const float now = fmaxf(most, s), factor = exp2f(most - now), weight = exp2f(s - now);
        most = now;
        sum = sum * factor + weight;
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          unpack(x, chunk(1, j, c));
#pragma unroll
          for (int d = 0; d < 8; ++d) o[8 * c + d] = o[8 * c + d] * factor + weight * x[d];
        }
      }
    }
    const float whole = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
    const float factor = most == -INFINITY ? 0.0f : exp2f(most - whole);
    sum *= factor;
    sum += __shfl_xor_sync(~0u, sum, 1);
    bf16* to = a.o + (static_cast<int64_t>(row) * p.positions + i) * 128 + head * kHeadWidth;
#pragma unroll
    for (int d = 0; d < 32; ++d) {
      o[d] *= factor;
      o[d] += __shfl_xor_sync(~0u, o[d], 1);
    }
    __syncwarp();
    if (wanted && parity == 0) {
#pragma unroll
      for (int d = 0; d < 32; ++d) to[d] = __float2bfloat16(o[d] / sum);
      *log = whole + log2f(sum);
    }
  }
}

}  // namespace

void attention_forward(const AttentionPanel& panel, void* o, float* logs, int* flags, void* stream) {
  const Arguments a{panel, static_cast<bf16*>(o), logs, flags};
  if (panel.rows <= 0) return;
  check(
      cudaMemsetAsync(flags, 0, flag_count(panel.rows, panel.padded) * sizeof(int), static_cast<cudaStream_t>(stream)),
      "attention_forward");
  const int64_t items =
      int64_t{kHeads} * ((panel.positions + kBlocks * 64 - 1) / (kBlocks * 64)) * ((panel.rows + kRows - 1) / kRows);
  launch("attention_forward", attention_forward_kernel, items, 512, ForwardRing::kShared, stream, a);
  attention_again_kernel<<<multiprocessors() * 8, 128, 0, static_cast<cudaStream_t>(stream)>>>(a);
  check(cudaGetLastError(), "attention_forward: again");
}

}  // namespace cpize::trunk::cuda
