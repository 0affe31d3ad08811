// What the tests of fused kernels share: bf16 under autocast, and how far a result is from fp64.
#pragma once
#include <ATen/ATen.h>

#include "parity/harness/setting.hpp"

namespace cpize::trunk {

/// While it lives, a GPU computes under autocast to bf16; not at all where `dtype` is another.
inline parity::AutocastScope autocast(at::ScalarType dtype = at::kBFloat16) {
  parity::Setting setting(MeshShape(1, 1, 1));
  setting.dtype = dtype;
  setting.device_type = at::kCUDA;
  return parity::AutocastScope(setting);
}

inline double relative_error(const at::Tensor& value, const at::Tensor& expected) {
  return ((value.to(at::kDouble) - expected).norm() / expected.norm()).item<double>();
}

}  // namespace cpize::trunk
