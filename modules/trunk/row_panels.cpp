#include "trunk/row_panels.hpp"

#include <ATen/ATen.h>

#include "trunk/parameters.hpp"

namespace cpize::trunk {

at::Tensor gradient_total(const at::Tensor& weight, bool wanted) {
  if (!wanted) return {};
  return at::zeros(weight.sizes(), weight.options().dtype(at::promote_types(weight.scalar_type(), at::kFloat)));
}

at::Tensor as_gradient(const at::Tensor& total, const at::Tensor& weight) {
  return total.defined() ? total.to(weight.scalar_type()) : total;
}

void add_weight_gradient(const at::Tensor& total, const at::Tensor& gradient, const at::Tensor& x) {
  if (!total.defined()) return;
  at::Tensor sum = total;
  if (x.is_cuda() && x.scalar_type() == at::kBFloat16 && gradient.scalar_type() == at::kBFloat16) {
    // A GPU's products of narrow operands sum in fp32 and can return it; cut, since one long product fills few cores.
    std::int64_t parts = 32;
    while (parts > 1 && (x.size(0) % parts != 0 || x.size(0) / parts < 256)) parts /= 2;
    const std::int64_t rows = x.size(0) / parts;
    sum.add_(at::bmm(gradient.reshape({parts, rows, -1}).transpose(1, 2), x.reshape({parts, rows, -1}), at::kFloat)
                 .sum(0)
                 .to(sum.scalar_type()));
    return;
  }
  sum.addmm_(gradient.to(sum.scalar_type()).t(), x.to(sum.scalar_type()));
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
