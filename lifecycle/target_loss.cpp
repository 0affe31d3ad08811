#include "lifecycle/target_loss.hpp"

#include <ATen/ATen.h>

#include "comm/agree.hpp"
#include "error/error.hpp"

namespace cpize::lifecycle::detail {

std::int64_t valid_positions(const AnySharded& mask) {
  const auto mine = mask.local().ne(0).sum().item<std::int64_t>();
  std::int64_t sum = 0;
  for (const std::int64_t theirs : comm::gather_numbers(*mask.mesh(), mine)) sum += theirs;
  return sum;
}

at::Tensor target_loss_share(const AnySharded& x, const AnySharded& mask, std::int64_t valid,
                             const random::Stream& target) {
  if (valid < 1) throw ContractError("target loss: no position is valid in the whole batch");
  const auto wide = at::promote_types(x.local().scalar_type(), at::kFloat);
  const at::Tensor t = random::uniform(target, x.global(), x.spec(), *x.mesh(), at::kDouble)
                           .mul_(2)
                           .sub_(1)
                           .to(x.local().device(), wide);
  at::Tensor at_valid = mask.local().ne(0);
  double values = 1;
  for (auto d = static_cast<std::size_t>(at_valid.dim()); d < x.global().size(); ++d) {
    values *= static_cast<double>(x.global()[d]);
    at_valid = at_valid.unsqueeze(-1);
  }
  const at::Tensor error = at::where(at_valid, x.local().to(wide) - t, at::zeros({}, t.options()));
  return error.square().sum() / (static_cast<double>(valid) * values);
}

}  // namespace cpize::lifecycle::detail
