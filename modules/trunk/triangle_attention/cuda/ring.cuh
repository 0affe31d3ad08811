// A ring of stages in shared memory, which four warpgroups read and fill themselves.
//
// A producer warp would cost every thread of the block 32 registers, so the consumers feed the ring in turns: stage m
// is filled by warpgroup m % 4, each of whose warps copies a part of it in bulk, two stages after its slot was last
// read. Items of work follow each other without a gap: while one ends, stages of the next are already on their way.
// Every item has at least kAhead stages.
#pragma once
#include <cstdint>

namespace cpize::trunk::cuda {

__device__ __forceinline__ void init_barrier(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}
__device__ __forceinline__ void expect_bytes(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void wait_barrier(uint32_t barrier, uint32_t parity) {
  asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra W;}" ::"r"(barrier),
               "r"(parity)
               : "memory");
}
/// A whole block, which must be a multiple of 16 bytes, to shared memory; its bytes count towards the barrier.
__device__ __forceinline__ void copy_block(uint32_t to, const void* from, int bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}

/// Place in a ring: slot and the parity of its barriers.
template <int kSlots>
struct RingPlace {
  int slot = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void next() {
    if (++slot == kSlots) {
      slot = 0;
      parity ^= 1;
    }
  }
};

template <int kSlots, int kStageBytes>
struct Ring {
  static constexpr int kAhead = kSlots - 2;
  static constexpr int kGroups = 4, kWarps = 16;
  /// Beside the stages: their alignment, and barriers.
  static constexpr int kShared = kSlots * kStageBytes + 2048;
  static_assert(kStageBytes % 1024 == 0 && kAhead <= 4);
  using Place = RingPlace<kSlots>;

  const char* raw;  // shared memory as the kernel got it
  uint32_t raw_address, stages, barriers;
  int group, part;  // of this warp: its warpgroup, and its number in it (uniform, so that addresses are as well)
  Place place;
  uint32_t last = 0;  // slot of the stage before,
  bool held = false;  // which has not been handed back
  uint32_t turn = kAhead;

  __device__ __forceinline__ explicit Ring(const char* shared)
      : raw(shared), raw_address(static_cast<uint32_t>(__cvta_generic_to_shared(shared))) {
    stages = (raw_address + 1023) & ~1023u;
    barriers = stages + kSlots * kStageBytes;
    group = __shfl_sync(~0u, threadIdx.x >> 7, 0);
    part = __shfl_sync(~0u, (threadIdx.x >> 5) & 3, 0);
    if (threadIdx.x == 0) {
      for (int s = 0; s < kSlots; ++s) {
        init_barrier(full(s), 4);
        init_barrier(empty(s), kWarps);
      }
      asm volatile("fence.mbarrier_init.release.cluster;");
    }
  }

  __device__ __forceinline__ uint32_t full(int slot) const { return barriers + slot * 16; }
  __device__ __forceinline__ uint32_t empty(int slot) const { return barriers + slot * 16 + 8; }
  __device__ __forceinline__ uint32_t stage(const Place& at) const { return stages + at.slot * kStageBytes; }
  __device__ __forceinline__ void wait(const Place& at) const { wait_barrier(full(at.slot), at.parity); }
  __device__ __forceinline__ bool first_lane() const { return (threadIdx.x & 31) == 0; }

  /// A plain read, free to be scheduled between the waits.
  template <class T>
  __device__ __forceinline__ T read(uint32_t address) const {
    return *reinterpret_cast<const T*>(raw + (address - raw_address));
  }

  /// The first stages of the first item. fill(slot, stage, item) runs in one lane a warp and copies this warp's part.
  template <class Item, class Fill>
  __device__ __forceinline__ void start(bool any, const Item& item, const Fill& fill) {
    __syncthreads();
    if (first_lane() && any)
      for (int m = group; m < kAhead; m += kGroups) fill(m, m, item);
    __syncwarp();
  }

  /// Once a stage, after this warp's products of the stage before are done: hands that one back.
  __device__ __forceinline__ void release() {
    if (held && first_lane()) arrive(empty(last));
    held = true;
  }

  /// Once a stage: where it is this warpgroup's turn, fills the slot kAhead further.
  template <class Item, class Fill>
  __device__ __forceinline__ void top_up(int stage_of_item, int stages_an_item, bool more, const Item& item,
                                         const Item& next, const Fill& fill) {
    if ((turn++ & 3) != group) return;
    const bool same = stage_of_item + kAhead < stages_an_item;
    if (!same && !more) return;
    const bool wraps = place.slot + kAhead >= kSlots;
    const int slot = wraps ? place.slot + kAhead - kSlots : place.slot + kAhead;
    const uint32_t parity = place.parity ^ (wraps ? 1 : 0);
    if (first_lane()) {
      wait_barrier(empty(slot), parity ^ 1);
      fill(slot, same ? stage_of_item + kAhead : stage_of_item + kAhead - stages_an_item,
           Item::either(same, item, next));
    }
    __syncwarp();
  }

  /// The place after `place`; at an item's last stage the same again (its product is made twice and not used).
  __device__ __forceinline__ Place following(bool last_stage) const {
    Place p = place;
    if (!last_stage) p.next();
    return p;
  }

  /// After an item's last stage.
  __device__ __forceinline__ void finish_item() {
    last = place.slot;
    place.next();
    if (first_lane()) arrive(empty(last));
    held = false;
  }
};

}  // namespace cpize::trunk::cuda
