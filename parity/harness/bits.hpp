// Equality bit for bit: NaN equals the same NaN, 0 and -0 differ.
#pragma once
#include <ATen/core/Tensor.h>

namespace cpize::parity {

/// Same shape, dtype and bytes (of the elements in logical order).
bool same_bits(const at::Tensor& a, const at::Tensor& b);

}  // namespace cpize::parity
