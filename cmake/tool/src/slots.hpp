// GPUs as slots: how many are here for us, and leases on them that no other process of this user can hold at once.
//
// Counted from the driver's folder (one entry a GPU, no driver call), limited in turn by CUDA_VISIBLE_DEVICES, by what
// SLURM gave the job, and by the number of resource groups that CTest gave the test. Which of them a lease gets is
// decided here, under one lock file a GPU in a folder of this machine: two build trees, two ctest, drive beside ctest
// never share a GPU. Locks are inherited by children and freed by the kernel when the last holder is gone.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "locks.hpp"

namespace cpize::tool {

/// How many GPUs this process may use. 0 where there is no driver, and inside a CTest test that was given none.
int gpus_here();

/// The same in words: "2 GPUs (of 8; CUDA_VISIBLE_DEVICES=2,3)".
std::string gpus_in_words();

/// How many ranks over NCCL share a GPU: $CPIZE_RANKS_PER_GPU, else 1; a UsageError where it is no number from 1 to 64.
int ranks_per_gpu();
/// GPUs for so many ranks over NCCL.
int gpus_for(int ranks);

/// $CPIZE_GPU_LOCKS, else /tmp/cpize-gpus-<uid>.
fs::path gpu_lock_folder();

/// What a GPU's lock file says of its last holder: "tri_mul_in (process 412) of /path/build", or "" when it is free.
std::vector<std::string> gpu_holders();

/// GPUs that are ours until the lease, and every child started meanwhile, is gone.
class GpuLease {
 public:
  /// As CUDA_VISIBLE_DEVICES means them here, in ascending order.
  std::vector<int> ids() const { return ids_; }
  /// "2,3"; "" for an empty lease, which hides every GPU from a child.
  std::string visible() const;

 private:
  friend GpuLease take_gpus(int count, const std::string& who);
  std::vector<int> ids_;
  std::vector<std::unique_ptr<Lock>> locks_;
};

/// `count` neighbouring GPUs, out of the smallest gap of free ones that holds them. Waits while they are busy, and says
/// once in a line who waits for whom; requests are served in turn, so that a large one is not starved by small ones.
/// More than gpus_here(): a Blocker.
GpuLease take_gpus(int count, const std::string& who);
GpuLease take_gpus(const Plan& plan, int count);

}  // namespace cpize::tool
