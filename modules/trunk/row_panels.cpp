#include "trunk/row_panels.hpp"

#include <ATen/ATen.h>

#include <bit>

#include "trunk/parameters.hpp"

namespace cpize::trunk {

at::Tensor gradient_total(const at::Tensor& weight, bool wanted) {
  if (!wanted) return {};
  return at::zeros(weight.sizes(), weight.options().dtype(at::promote_types(weight.scalar_type(), at::kFloat)));
}

at::Tensor as_gradient(const at::Tensor& total, const at::Tensor& weight) {
  return total.defined() ? total.to(weight.scalar_type()) : total;
}

std::int64_t partial_sums(std::int64_t rows, std::int64_t outputs, std::int64_t shortest) {
  constexpr std::int64_t kWanted = 32768;  // rows of all partial results together
  const std::int64_t parts = std::clamp<std::int64_t>(kWanted / std::max<std::int64_t>(outputs, 1), 32, 128);
  return static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::clamp<std::int64_t>(rows / shortest, 1, parts))));
}

std::int64_t operand_panel(std::int64_t rows, std::int64_t parts) {
  constexpr std::int64_t kUnit = 4096, kFewest = 32768, kTile = 64;  // fewer rows take the host longer than the GPU
  const auto up = [](std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; };
  return std::min(std::max(kFewest, up((rows + parts - 1) / parts, kUnit)), up(rows, kTile));
}

void add_weight_gradient(const at::Tensor& total, const at::Tensor& gradient, const at::Tensor& x) {
  if (!total.defined() || x.size(0) == 0) return;
  at::Tensor sum = total;
  // A GPU's products of narrow operands sum in fp32 and can return it.
  const bool narrow = x.is_cuda() && x.scalar_type() == at::kBFloat16 && gradient.scalar_type() == at::kBFloat16;
  const at::Tensor g = narrow ? gradient : gradient.to(sum.scalar_type()), in = narrow ? x : x.to(sum.scalar_type());
  if (!narrow && sum.scalar_type() != at::kFloat) {
    sum.addmm_(g.t(), in);
    return;
  }
  const auto product = [&](const at::Tensor& a, const at::Tensor& b) {  // [parts, out, rows] x [parts, rows, in]
    return narrow ? at::bmm(a, b, at::kFloat) : at::bmm(a, b);
  };
  // A part is long enough for a GPU's narrow products, and elsewhere that its result is smaller than its operands.
  const std::int64_t outputs = g.size(1), inputs = in.size(1);
  const std::int64_t balanced = std::max<std::int64_t>(64, 2 * outputs * inputs / (outputs + inputs));
  const std::int64_t parts = narrow ? partial_sums(in.size(0), outputs) : partial_sums(in.size(0), outputs, balanced);
  const std::int64_t length = in.size(0) / parts, rest = in.size(0) - parts * length;
  const auto cut = [&](const at::Tensor& t) { return t.narrow(0, 0, parts * length).reshape({parts, length, -1}); };
  const auto last = [&](const at::Tensor& t) { return t.narrow(0, parts * length, rest).unsqueeze(0); };
  sum.add_(product(cut(g).mT(), cut(in)).sum(0).to(sum.scalar_type()));
  if (rest > 0) sum.add_(product(last(g).mT(), last(in)).squeeze(0).to(sum.scalar_type()));
}

void add_input_gradient(const at::Tensor& total, const at::Tensor& gradient, const at::Tensor& weight) {
  if (!total.defined()) return;
  at::Tensor sum = total;
  if (sum.scalar_type() == gradient.scalar_type())
    sum.addmm_(gradient, weight);
  else
    sum.add_(at::mm(gradient, weight));
}

NormedRows normalise(const at::Tensor& rows, const at::Tensor& weight, const at::Tensor& bias) {
  auto [value, mean, rstd] = at::native_layer_norm(rows, {rows.size(-1)}, weight, bias, kNormEpsilon);
  return {value, mean, rstd};
}

at::Tensor normalise_backward(const at::Tensor& gradient, const at::Tensor& rows, const NormedRows& normed,
                              const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& weight_total,
                              const at::Tensor& bias_total, bool wanted) {
  auto [dx, dw, db] = at::native_layer_norm_backward(gradient, rows, {rows.size(-1)}, normed.mean, normed.rstd, weight,
                                                     bias, {wanted, weight_total.defined(), bias_total.defined()});
  at::Tensor w = weight_total, b = bias_total;
  if (w.defined()) w.add_(dw);
  if (b.defined()) b.add_(db);
  return dx;
}

}  // namespace cpize::trunk
