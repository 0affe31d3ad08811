// Panels of pair-weighted averaging: a few MSA rows, their tokens outermost, so that a product with the weights of a
// head takes all of them at once.
#pragma once
#include <ATen/core/Tensor.h>

#include "trunk/msa/averaging_function.hpp"
#include "trunk/row_panels.hpp"

namespace cpize::trunk {

/// Rows [begin, begin + count) of x [s,N,c], tokens outermost, as [N count, c]; a copy.
inline at::Tensor token_rows(const at::Tensor& x, std::int64_t begin, std::int64_t count) {
  return x.narrow(0, begin, count).transpose(0, 1).reshape({x.size(1) * count, x.size(2)});
}
/// [N count, c] as [count, N, c]; a view.
inline at::Tensor msa_rows(const at::Tensor& x, std::int64_t count) {
  return x.view({x.size(0) / count, count, x.size(1)}).transpose(0, 1);
}
/// [N count, c] as [N, count c], for a product over tokens; a view.
inline at::Tensor by_token(const at::Tensor& x, std::int64_t count) { return x.view({x.size(0) / count, -1}); }

/// The part of a projection's weight [heads d, c] or of channels [.., heads d] that belongs to a group or a head.
inline at::Tensor heads_of(const at::Tensor& weight, std::int64_t dim, const AveragingCall& call, std::int64_t begin,
                           std::int64_t size = 1) {
  return weight.narrow(dim, begin * call.head_width, size * call.head_width);
}

/// f(sample, begin, count) for panels of MSA rows; not at all where there are none.
template <class F>
void for_msa_panels(const at::Tensor& m, std::int64_t depth, F f) {
  if (m.numel() == 0) return;
  for (std::int64_t sample = 0; sample < m.size(0); ++sample)
    for_row_panels(m.size(1), depth, [&](std::int64_t begin, std::int64_t count) { f(sample, begin, count); });
}

}  // namespace cpize::trunk
