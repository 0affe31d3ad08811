#include "trunk/heads/distogram.hpp"

#include <ATen/ATen.h>

#include "error/error.hpp"
#include "layout/redistribute.hpp"
#include "trunk/precision.hpp"

namespace cpize::trunk {

Sharded<Pair> transposed(const Sharded<Pair>& z) {
  return z.with(redistribute<PairTransposed>(z).local().transpose(1, 2));
}

DistogramModuleImpl::DistogramModuleImpl(std::int64_t token_z, std::int64_t num_bins, std::int64_t num_distograms)
    : num_bins(num_bins),
      num_distograms(num_distograms),
      distogram(register_module("distogram", BiasedProjection(token_z, num_distograms * num_bins))) {}

Sharded<Pair> DistogramModuleImpl::forward(const Sharded<Pair>& z) {
  const at::Tensor &weight = distogram->weight, &bias = distogram->bias;
  const Shape& pairs = z.global();
  if (pairs.size() != 4 || pairs[1] != pairs[2] || pairs[3] != weight.size(1))
    throw ContractError("the distogram head takes z [B,N,N," + std::to_string(weight.size(1)) + "]");
  at::Tensor y;
  if (weight.size(0) < weight.size(1)) {
    const Sharded<Pair> mapped = z.with(at::linear(z.local(), weight));
    y = mapped.local() + transposed(mapped).local() + bias.to(mapped.local().scalar_type());
  } else {
    const Sharded<Pair> narrow = z.with(z.local().to(Precision::of(z.local()).operand));  // what travels
    y = at::linear(narrow.local() + transposed(narrow).local(), weight, bias);
  }
  return z.with(y.unflatten(-1, {num_distograms, num_bins}));
}

}  // namespace cpize::trunk
