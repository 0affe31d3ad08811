// Precision: the dtypes in which a hand-written block computes, the same that the serial block's operations would take.
//
// A hand-written autograd function sees through autocast itself: it reads the setting once, in forward, switches
// autocast off inside (NoAutocast) and uses the same dtypes again in backward, where autocast is off anyway.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace cpize::trunk {

struct Precision {
  at::ScalarType norm;     // layer normalisations: fp32 under autocast, else the dtype of the activation
  at::ScalarType operand;  // projections, gates, exchanged tensors: autocast's dtype, else that of the activation
  at::ScalarType wide;     // sums over tokens and rows: promote_types(operand, fp32), so that fp64 stays fp64

  /// For activation `x` under the autocast setting of this thread. fp64 is never cast down.
  static Precision of(const at::Tensor& x);
};

/// RAII: no autocast for tensors of the device of `x`.
class NoAutocast {
 public:
  explicit NoAutocast(const at::Tensor& x);

 private:
  c10::impl::ExcludeDispatchKeyGuard guard_;
};

}  // namespace cpize::trunk
