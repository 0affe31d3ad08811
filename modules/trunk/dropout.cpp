#include "trunk/dropout.hpp"

#include <ATen/ATen.h>

#include "error/error.hpp"
#include "layout/box.hpp"
#include "random/draw.hpp"

namespace cpize::trunk {

Dropout Dropout::child(const std::string& name) const { return active() ? Dropout(root_->child(name)) : Dropout(); }

at::Tensor Dropout::factor(const AnySharded& x, int dimension, double rate, const std::string& name) const {
  if (rate < 0 || rate >= 1) throw ContractError("dropout '" + name + "': a rate of " + std::to_string(rate));
  if (!active() || rate == 0) return {};
  if (x.spec().is_partial(Axis::dp) || x.spec().is_partial(Axis::cp0) || x.spec().is_partial(Axis::cp1))
    throw ContractError("dropout '" + name + "' takes values, not partial sums " + x.spec().str());
  if (x.global().size() < 3)
    throw ContractError("dropout '" + name + "' takes three or more dimensions, got " +
                        std::to_string(x.global().size()));
  // The draws' global shape is [B,R,1,..] (or [B,1,M,..]); this rank's rectangle of it follows from its part of x.
  Box box = box_of(x.spec(), x.global(), x.mesh()->shape(), x.mesh()->coordinates());
  Shape global = x.global();
  for (int d = 1; d < static_cast<int>(global.size()); ++d)
    if (d != dimension) global[d] = 1, box.low[d] = 0, box.size[d] = 1;
  const at::Tensor kept =
      random::uniform(root_->child(name), global, box, x.local().options().dtype(at::kFloat)) >= rate;
  return kept.to(at::promote_types(x.local().scalar_type(), at::kFloat)) * (1.0 / (1.0 - rate));
}

}  // namespace cpize::trunk
