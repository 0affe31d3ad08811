// The pair track of a pairformer layer: its five residual updates, which both kinds of layer share.
#pragma once
#include <utility>

#include "layout/sharded.hpp"
#include "trunk/dropout.hpp"
#include "trunk/padding.hpp"

namespace cpize::trunk {

/// z + factor * update (factor undefined: z + update), in the memory of the update, which nothing else reads. The one
/// place where a block's result meets the residual stream.
inline Sharded<Pair> add_dropped(const Sharded<Pair>& z, const Sharded<Pair>& update, const at::Tensor& factor) {
  if (!factor.defined()) return add_to(z, update);
  at::Tensor sum = update.local();
  const bool in_place = sum.scalar_type() == factor.scalar_type() && sum.scalar_type() == z.local().scalar_type();
  return z.with(in_place ? sum.mul_(factor).add_(z.local()) : z.local() + sum * factor);
}

/// `layer` has the members tri_mul_out, tri_mul_in, tri_att_start, tri_att_end, transition_z and options. z is taken by
/// value: whoever moves it in keeps no copy while the updates run. Where nothing is dropped, blocks that can add their
/// update to z themselves do; from the second on, z is the layer's own memory and may be overwritten (without
/// gradients).
template <class Layer>
Sharded<Pair> update_pairs(Layer& layer, Sharded<Pair> z, const Sharded<Pair>& mask, const Dropout& dropout) {
  const double rate = dropout.active() ? layer.options.dropout : 0;
  const auto by_row = [&](auto& block, const char* name) {
    const auto update = block(z, mask);
    z = add_dropped(z, update, dropout.row_factor(update, rate, name));
  };
  if (rate != 0) {
    by_row(layer.tri_mul_out, "tri_mul_out");
    by_row(layer.tri_mul_in, "tri_mul_in");
    by_row(layer.tri_att_start, "tri_att_start");
    const auto update = layer.tri_att_end(z, mask);
    z = add_dropped(z, update, dropout.column_factor(update, rate, "tri_att_end"));
  } else {
    z = layer.tri_mul_out->residual(z, mask);
    z = layer.tri_mul_in->residual(z, mask, /*overwrite=*/true);
    z = layer.tri_att_start->residual(z, mask, /*overwrite=*/true);
    z = layer.tri_att_end->residual(z, mask, /*overwrite=*/true);
  }
  return layer.transition_z->residual(z, /*overwrite=*/true);
}

}  // namespace cpize::trunk
