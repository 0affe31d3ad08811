// Padding at the entry of a composition: whatever padded positions hold (NaN included) becomes zero, in the shards.
#pragma once
#include <ATen/ATen.h>

#include "layout/sharded.hpp"

namespace cpize::trunk {

/// token_pad_mask [B,N] -> pair mask [B,N,N], the outer product, in the dtype of the token mask. Sends the token mask
/// once along its row and its column.
Sharded<Pair> pair_mask(const Sharded<Single>& token_pad_mask);

/// x with zero wherever `mask` (of the same shard, without trailing dimensions) is 0. A selection, not a product: NaN
/// does not survive it, and the gradient of what was replaced is exactly zero.
template <class L>
Sharded<L> zero_where(const Sharded<L>& x, const Sharded<L>& mask) {
  at::Tensor valid = mask.local() != 0;
  while (valid.dim() < x.local().dim()) valid = valid.unsqueeze(-1);
  return x.with(at::where(valid, x.local(), at::zeros({}, x.local().options())));
}

/// z + update, in the memory of the update, which nothing else reads.
inline at::Tensor add_to(const at::Tensor& z, at::Tensor update) {
  return update.scalar_type() == z.scalar_type() ? update.add_(z) : update + z;
}
template <class L>
Sharded<L> add_to(const Sharded<L>& z, const Sharded<L>& update) {
  return z.with(add_to(z.local(), update.local()));
}

}  // namespace cpize::trunk
