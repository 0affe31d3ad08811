// A ring of weight slices in shared memory: weights too large to stay there pass through it, slice after slice, again
// for every tile, while the warpgroups work on the slices that are there.
//
// A slice is copied by the bulk copy engine as it lies in global memory (weight images). One thread orders the copies
// and runs kAhead slices before its own work; the other warpgroups may fall kStages - kAhead slices behind it.
#pragma once
#include <cstdint>

#include "trunk/cuda/tiles.cuh"

namespace cpize::trunk::cuda {

/// Completion of copies, or of reads: a hardware barrier in shared memory, waited for by the parity of its phase.
struct PhaseBarrier {
  uint32_t address;

  __device__ __forceinline__ void start(int arrivals) const {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address), "r"(arrivals) : "memory");
  }
  __device__ __forceinline__ void arrive() const {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
  }
  __device__ __forceinline__ void arrive_and_expect(int bytes) const {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address), "r"(bytes) : "memory");
  }
  __device__ __forceinline__ void wait(int parity) const {
    asm volatile(
        "{.reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@done bra.uni over;\n"
        "bra.uni again;\n"
        "over:}" ::"r"(address),
        "r"(parity)
        : "memory");
  }
};

template <int kStages, int kSliceBytes, int kGroups>
struct WeightRing {
  static constexpr int kAhead = kStages / 2, kBytes = kStages * kSliceBytes + 2 * kStages * 8;

  uint32_t stages;  // shared memory, kBytes from a multiple of 1,024
  const char* image;
  int slices, uses;  // of the image; of all tiles of this block together

  /// All threads; ends with a barrier of the block.
  __device__ WeightRing(char* memory, const void* image, int slices, int uses)
      : stages(shared_address(memory)), image(static_cast<const char*>(image)), slices(slices), uses(uses) {
    if (threadIdx.x == 0) {
      for (int s = 0; s < kStages; ++s) {
        full(s).start(1);
        empty(s).start(4 * kGroups);  // one arrival a warp
      }
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      for (int use = 0; use < kAhead && use < uses; ++use) fill(use);
    }
    __syncthreads();
  }

  /// The shared address of the slice of this use, once it is there. Called by all threads, in order of uses.
  __device__ __forceinline__ uint32_t acquire(int use) const {
    if (threadIdx.x == 0 && use + kAhead < uses) fill(use + kAhead);
    __syncwarp();
    full(use % kStages).wait(use / kStages % 2);
    return stages + use % kStages * kSliceBytes;
  }
  /// This warp has read it.
  __device__ __forceinline__ void release(int use) const {
    __syncwarp();
    if (threadIdx.x % 32 == 0) empty(use % kStages).arrive();
  }

 private:
  __device__ __forceinline__ PhaseBarrier full(int stage) const { return {stages + kStages * kSliceBytes + stage * 8}; }
  __device__ __forceinline__ PhaseBarrier empty(int stage) const {
    return {stages + kStages * kSliceBytes + (kStages + stage) * 8};
  }
  __device__ __forceinline__ void fill(int use) const {
    const int stage = use % kStages;
    if (use >= kStages) empty(stage).wait((use / kStages - 1) % 2);
    full(stage).arrive_and_expect(kSliceBytes);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     stages + stage * kSliceBytes),
                 "l"(image + static_cast<int64_t>(use % slices) * kSliceBytes), "r"(kSliceBytes),
                 "r"(full(stage).address)
                 : "memory");
  }
};

}  // namespace cpize::trunk::cuda
