// Row panels: blocks of rows that bound what a pointwise computation holds at once, and sums that run over the panels.
#pragma once
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

namespace cpize::trunk {

/// Rows of one panel: `wanted` if positive, else rows / parts, but not so few (`fewest`; 0: of rows as most panels have
/// them) that the calls cost more than the work: a GPU takes more rows in the time of a call.
inline std::int64_t panel_rows(std::int64_t rows, std::int64_t parts, std::int64_t wanted, bool on_gpu = false,
                               std::int64_t fewest = 0) {
  if (fewest == 0) fewest = on_gpu ? 1024 : 64;
  return wanted > 0 ? wanted : std::clamp<std::int64_t>((rows + parts - 1) / parts, fewest, on_gpu ? 262144 : 32768);
}

/// f(begin, count) for each panel; not at all where there are no rows (an empty shard).
template <class F>
void for_row_panels(std::int64_t rows, std::int64_t panel, F f) {
  for (std::int64_t begin = 0; begin < rows; begin += panel) f(begin, std::min(panel, rows - begin));
}

/// Zeros of the shape of `weight` in promote_types(dtype, fp32), where the panels' shares are added up; undefined where
/// the gradient is not wanted. All functions below skip an undefined total.
at::Tensor gradient_total(const at::Tensor& weight, bool wanted);
/// The total as the gradient that autograd takes, in the dtype of the weight.
at::Tensor as_gradient(const at::Tensor& total, const at::Tensor& weight);

/// Into how many partial sums a product over `rows` is cut: a power of two, fewer where there are many `outputs` (rows
/// of the result) or where the parts would have fewer than `shortest` rows.
std::int64_t partial_sums(std::int64_t rows, std::int64_t outputs, std::int64_t shortest = 256);
/// Rows of a panel for which a kernel leaves operands of weight gradients in memory: rows / parts, in units that cut
/// well into partial sums and into the kernels' tiles of 64 rows, which they write whole.
std::int64_t operand_panel(std::int64_t rows, std::int64_t parts);

/// total [out, in] += gradient [rows, out]^T x [rows, in], accumulated in the dtype of the total; in a fixed
/// order, so that it repeats. Sums in fp32 are cut into parts, whose results are added up pairwise: one long product
/// would lose digits, and keep few multiprocessors of a GPU busy.
void add_weight_gradient(const at::Tensor& total, const at::Tensor& gradient, const at::Tensor& x);
/// total [rows, in] += gradient [rows, out] weight [out, in].
void add_input_gradient(const at::Tensor& total, const at::Tensor& gradient, const at::Tensor& weight);

/// A normalised panel and what its backward needs.
struct NormedRows {
  at::Tensor value, mean, rstd;
};
NormedRows normalise(const at::Tensor& rows, const at::Tensor& weight, const at::Tensor& bias);

/// Gradient of `rows` (undefined unless `wanted`); adds the affine gradients to their totals. With n the normalised row
/// before the affine map and r = 1 / std:  dx = r (g w - mean(g w) - n mean(g w n)), dw = sum g n, db = sum g.
at::Tensor normalise_backward(const at::Tensor& gradient, const at::Tensor& rows, const NormedRows& normed,
                              const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& weight_total,
                              const at::Tensor& bias_total, bool wanted);

}  // namespace cpize::trunk
