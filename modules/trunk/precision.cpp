#include "trunk/precision.hpp"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

namespace cpize::trunk {

Precision Precision::of(const at::Tensor& x) {
  const auto device = x.device().type();
  Precision p{x.scalar_type(), x.scalar_type(), at::kFloat};
  if (x.scalar_type() != at::kDouble && at::autocast::is_autocast_enabled(device)) {
    p.norm = at::kFloat;
    p.operand = at::autocast::get_autocast_dtype(device);
  }
  p.wide = at::promote_types(p.operand, at::kFloat);
  return p;
}

NoAutocast::NoAutocast(const at::Tensor& x)
    : guard_(at::autocast::get_autocast_dispatch_key_from_device_type(x.device().type())) {}

}  // namespace cpize::trunk
