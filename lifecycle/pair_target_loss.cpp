#include "lifecycle/pair_target_loss.hpp"

#include <ATen/ATen.h>

#include "comm/agree.hpp"
#include "error/error.hpp"

namespace cpize::lifecycle {

CounterStream pair_target(std::uint64_t seed, std::int64_t step) { return {seed, "pair target", step}; }

std::int64_t valid_pairs(const Sharded<Pair>& pair_mask) {
  const auto mine = pair_mask.local().ne(0).sum().item<std::int64_t>();
  std::int64_t sum = 0;
  for (const std::int64_t theirs : comm::gather_numbers(*pair_mask.mesh(), mine)) sum += theirs;
  return sum;
}

at::Tensor pair_target_loss_share(const Sharded<Pair>& z, const Sharded<Pair>& pair_mask, std::int64_t valid_pairs,
                                  const CounterStream& target) {
  if (valid_pairs < 1) throw ContractError("pair target loss: no pair is valid in the whole batch");
  const auto wide = at::promote_types(z.local().scalar_type(), at::kFloat);
  const Box box = box_of(Pair::spec, z.global(), z.mesh()->shape(), z.mesh()->coordinates());
  const at::Tensor t = target.uniform(z.global(), box).to(z.local().device(), wide);
  const at::Tensor valid = pair_mask.local().ne(0).unsqueeze(-1);
  const at::Tensor error = at::where(valid, z.local().to(wide) - t, at::zeros({}, t.options()));
  return error.square().sum() / static_cast<double>(valid_pairs * z.global().back());
}

}  // namespace cpize::lifecycle
