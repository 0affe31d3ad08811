// OperationTally: arithmetic of matrix products by scope and phase, and up-casts, from the operations of this thread.
//
// A matrix product of [m,k] and [k,n] is 2 m k n floating point operations. The backward of a product costs twice its
// forward; what a scope does in backward beyond that is recomputed.
#pragma once
#include <ATen/record_function.h>
#include <cstdint>

#include "profile/memory_attribution.hpp"

namespace cpize::profile {

/// One a thread at a time.
class OperationTally {
 public:
  /// Results in a floating dtype wider than `wanted` are marked in `memory` (may be null).
  OperationTally(const ScopeTracker& tracker, MemoryAttribution* memory, at::ScalarType wanted);
  ~OperationTally();
  OperationTally(const OperationTally&) = delete;
  OperationTally& operator=(const OperationTally&) = delete;

  const std::map<Place, double>& flops() const { return flops_; }
  double total_flops() const;

 private:
  static std::unique_ptr<at::ObserverContext> before(const at::RecordFunction& operation);
  static void after(const at::RecordFunction& operation, at::ObserverContext* context);

  const ScopeTracker& tracker_;
  MemoryAttribution* const memory_;
  const std::int64_t wanted_size_;
  std::map<Place, double> flops_;
  at::CallbackHandle handle_;
};

}  // namespace cpize::profile
