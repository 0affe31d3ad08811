// Gradient of T: the sum of ds over rows. A block owns 128 x 128 of a head, 64 x 64 a warpgroup, in registers, and
// walks over the rows; no atomics. Where tiles are too few for a GPU, rows are shared out to parts, each with a sum of
// its own.
#include "trunk/cuda/launch.cuh"
#include "trunk/triangle_attention/cuda/ring.cuh"
#include "trunk/triangle_attention/cuda/scores.cuh"

namespace cpize::trunk::cuda {
namespace {

using bf16 = __nv_bfloat16;

constexpr int kSlots = 6, kKeysAt = 2 * kQueryGradientBlock, kStage = kKeysAt + 2 * kKeyBlock;
constexpr int kFewestRows = 4;  // of an item: it has at least kAhead stages

using BiasRing = Ring<kSlots, kStage>;

struct Arguments {
  AttentionPanel panel;
  float* partial;
  int parts;
  bool first;
};

__global__ void __launch_bounds__(512, 1) attention_bias_gradient_kernel(const Arguments a) {
  extern __shared__ char shared[];
  const AttentionPanel& p = a.panel;
  BiasRing ring(shared);
  const uint32_t ones = ring.barriers + 1024;
  char* ones_of_logs = const_cast<char*>(ring.raw) + (ones - ring.raw_address);
  store_ones(ones_of_logs, false);
  store_ones(ones_of_logs + kOnesBytes, true);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  const int side = (p.positions + 127) / 128, rows_a_part = (p.rows + a.parts - 1) / a.parts, tiles = p.padded / 64;
  const int items = side * side * kHeads * a.parts;
  // here `rows` is a part, `block` a tile of 128 x 128: that of its queries, then 16 bits for that of its keys
  const auto item_of = [&](int index) {
    const int tile = index % (side * side);
    AttentionItem item{tile / side << 16 | tile % side, 0, 0};
    const int rest = index / (side * side);
    item.head = rest % kHeads;
    item.rows = rest / kHeads;
    return item;
  };
  const auto fill = [&](int slot, int stage, const AttentionItem& item) {
    const uint32_t to = ring.stages + slot * kStage, barrier = ring.full(slot);
    expect_bytes(barrier, ring.part == 0 ? 2 * kQueryGradientBlock : ring.part == 1 ? 2 * kKeyBlock : 0);
    const int row = min(item.rows * rows_a_part + stage, p.rows - 1);
    if (ring.part == 0)
      copy_block(to, image_block(p.queries, row, item.head, tiles, (item.block >> 16) * 2, kQueryGradientBlock),
                 2 * kQueryGradientBlock, barrier);
    if (ring.part == 1)
      copy_block(to + kKeysAt, image_block(p.keys, row, item.head, tiles, (item.block & 0xffff) * 2, kKeyBlock),
                 2 * kKeyBlock, barrier);
  };
  ring.start(static_cast<int>(blockIdx.x) < items, item_of(blockIdx.x), fill);

  const int lane = threadIdx.x & 31, g8 = lane >> 2, t = lane & 3;
  const int query_tile = ring.group >> 1, key_tile = ring.group & 1;
  const uint32_t queries_at = query_tile * kQueryGradientBlock, keys_at = kKeysAt + key_tile * kKeyBlock;
  for (int w = blockIdx.x; w < items; w += gridDim.x) {
    const AttentionItem item = item_of(w);
    const bool more = w + static_cast<int>(gridDim.x) < items;
    const AttentionItem next = item_of(min(w + static_cast<int>(gridDim.x), items - 1));
    const int begin = item.rows * rows_a_part, live = min(rows_a_part, p.rows - begin);
    const int stages = max(rows_a_part, kFewestRows);  // those beyond `live` count as masked
    const int i_block = item.block >> 16, j_block = item.block & 0xffff;
    float bias[2][16], sum[2][16];  // 16 queries x 64 keys of this warp, 32 at a time
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int64_t at = fragment_offset(p.padded, item.head, i_block * 8 + query_tile * 4 + ring.part,
                                         j_block * 8 + key_tile * 4 + c);
      float* to = &bias[c / 2][c % 2 * 8];
      unpack(to, *reinterpret_cast<const uint4*>(static_cast<const bf16*>(p.bias) + at + lane * 8));
#pragma unroll
      for (int e = 0; e < 8; ++e) to[e] *= kLog2E;
    }
    touch(bias[0]);  // kept as they are, not made again from what was loaded
    touch(bias[1]);
#pragma unroll
    for (int h = 0; h < 2; ++h)
#pragma unroll
      for (int c = 0; c < 16; ++c) sum[h][c] = 0.0f;
    float s[16], x[16];
    const auto multiply_half = [&](uint32_t at, int half) {
      const uint32_t q = tile_place(at + queries_at), k = tile_place(at + keys_at) + half * 128;
      touch(s);
      begin_products();
      multiply_shared<0>(s, tile_at(q), tile_at(k), 1);
      multiply_shared<0>(s, tile_at(q + 2), tile_at(k + 2), 1);
      multiply_shared<0>(s, shifts_at(q + kShiftsAt / 16), shifts_at(tile_place(ones)), 1);
      multiply_shared<0>(x, tile_at(q + 256), tile_at(k + 256), 0);
      multiply_shared<0>(x, tile_at(q + 258), tile_at(k + 258), 1);
      multiply_shared<0>(x, shifts_at(q + kShiftsAt / 16), shifts_at(tile_place(ones + kOnesBytes)), 1);
      commit_products();
    };
    // words of the row at hand; rows beyond the last repeat it
    const int word = j_block * 4 + key_tile * 2, last_word = (p.rows - 1) * valid_words(p.padded) + word;
    int next_word = min(begin * valid_words(p.padded) + word, last_word);
    const auto next_valid = [&] {
      const uint2 bits = __ldg(reinterpret_cast<const uint2*>(p.valid + next_word));
      next_word = min(next_word + valid_words(p.padded), last_word);
      return bits;
    };
    uint2 valid1 = next_valid();
    ring.wait(ring.place);
    {
      const uint32_t at = ring.stage(ring.place);
#pragma unroll
      for (int c = 0; c < 16; ++c) s[c] = bias[0][c];
      multiply_half(at, 0);
    }
    for (int stage = 0; stage < stages; ++stage) {
      const uint32_t at = ring.stage(ring.place);
      const bool last_stage = stage + 1 == stages;
      const auto after = ring.following(last_stage);
      const uint2 valid = stage < live ? valid1 : uint2{0, 0};
      valid1 = next_valid();
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (half) ring.wait(after);
        wait_products<0>();
        touch(s);
        touch(x);
        if (half == 0) ring.release();
        const uint32_t bits = half ? valid.y : valid.x;
        if (bits != ~0u) mask_scores(s, bits);
#pragma unroll
        for (int c = 0; c < 16; ++c) {
          sum[half][c] = fmaf(exp2_of(s[c]), x[c], sum[half][c]);
          s[c] = bias[1 - half][c];
        }
        multiply_half(half ? ring.stage(after) : at, 1 - half);
        if (half == 0) ring.top_up(stage, stages, more, item, next, fill);
      }
      ring.last = ring.place.slot;
      if (!last_stage) ring.place = after;
    }
    wait_products<0>();
    touch(s);
    touch(x);
    ring.finish_item();
    float* part = a.partial + static_cast<int64_t>(item.rows) * kHeads * p.positions * p.positions;
#pragma unroll
    for (int h = 0; h < 2; ++h)
#pragma unroll
      for (int c = 0; c < 16; ++c) {
        const int i = i_block * 128 + query_tile * 64 + ring.part * 16 + g8 + ((c >> 1) & 1) * 8;
        const int j = j_block * 128 + key_tile * 64 + h * 32 + (c >> 2) * 8 + t * 2 + (c & 1);
        if (i >= p.positions || j >= p.positions) continue;
        float* to = part + (static_cast<int64_t>(item.head) * p.positions + i) * p.positions + j;
        *to = a.first ? sum[h][c] : *to + sum[h][c];
      }
  }
}

}  // namespace

int bias_gradient_parts(int64_t panel_rows, int64_t rows, int positions) {
  const int64_t side = (positions + 127) / 128, tiles = side * side * kHeads, enough = multiprocessors() * 6;
  const int64_t most = 8 * rows / positions;  // all parts together: half of what x takes
  int parts = 1;
  while (tiles * parts < enough && parts * 16 < panel_rows && 2 * parts <= most) parts *= 2;
  return parts;
}

void attention_bias_gradient(const AttentionPanel& panel, int parts, bool first, float* partial, void* stream) {
  const Arguments a{panel, partial, parts, first};
  const int64_t side = (panel.positions + 127) / 128;
  if (panel.rows <= 0) return;
  launch("attention_bias_gradient", attention_bias_gradient_kernel, side * side * kHeads * parts, 512,
         BiasRing::kShared + 2 * kOnesBytes, stream, a);
}

}  // namespace cpize::trunk::cuda
