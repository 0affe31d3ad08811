#include "trunk/msa/wide_products.hpp"

#include <ATen/ATen.h>

#include "trunk/row_panels.hpp"

namespace cpize::trunk {
namespace {

bool returns_wide(const at::Tensor& x, at::ScalarType wide) { return x.is_cuda() && x.scalar_type() != wide; }

}  // namespace

at::Tensor wide_product(const at::Tensor& a, const at::Tensor& b, at::ScalarType wide) {
  return returns_wide(a, wide) ? at::mm(a, b, wide) : at::mm(a.to(wide), b.to(wide));
}

at::Tensor narrow_product(const at::Tensor& a, const at::Tensor& b, at::ScalarType wide) {
  return a.is_cuda() ? at::mm(a, b) : at::mm(a.to(wide), b.to(wide)).to(a.scalar_type());
}

at::Tensor wide_stack_product(const at::Tensor& a, const at::Tensor& b, at::ScalarType wide) {
  const at::Tensor shared = b.unsqueeze(0).expand({a.size(0), b.size(0), b.size(1)});
  if (returns_wide(a, wide)) return at::bmm(a, shared, wide);
  if (a.is_cuda()) return at::bmm(a, shared);
  at::Tensor out = at::empty({a.size(0), a.size(1), b.size(1)}, a.options().dtype(wide));
  const at::Tensor factor = b.to(wide);
  for (std::int64_t i = 0; i < a.size(0); ++i) {
    at::Tensor part = out[i];
    at::mm_out(part, a[i].to(wide), factor);
  }
  return out;
}

at::Tensor narrow_stack_product(const at::Tensor& a, const at::Tensor& b, at::ScalarType wide) {
  if (b.is_cuda()) return at::bmm(a.unsqueeze(0).expand({b.size(0), a.size(0), a.size(1)}), b);
  at::Tensor out = at::empty({b.size(0), a.size(0), b.size(2)}, b.options());
  const at::Tensor factor = a.to(wide);
  for (std::int64_t i = 0; i < b.size(0); ++i) {
    at::Tensor part = out[i];
    if (wide == b.scalar_type())
      at::mm_out(part, factor, b[i]);
    else
      part.copy_(at::mm(factor, b[i].to(wide)));
  }
  return out;
}

void add_panel_gradient(const at::Tensor& total, const at::Tensor& gradient, const at::Tensor& x) {
  if (!total.defined()) return;
  if (x.is_cuda() && x.scalar_type() != total.scalar_type()) return add_weight_gradient(total, gradient, x);
  at::Tensor sum = total;
  sum.add_(at::mm(gradient.to(sum.scalar_type()).t(), x.to(sum.scalar_type())));
}

void add_stack_product(const at::Tensor& total, const at::Tensor& a, const at::Tensor& b) {
  at::Tensor sum = total;
  const auto wide = sum.scalar_type();
  if (returns_wide(a, wide)) {
    sum.add_(at::bmm(a.mT(), b, wide).sum(0));
  } else if (a.is_cuda()) {
    sum.add_(at::bmm(a.mT(), b).sum(0));
  } else {
    at::Tensor part = at::zeros_like(sum);
    for (std::int64_t i = 0; i < a.size(0); ++i) part.addmm_(a[i].to(wide).t(), b[i].to(wide));
    sum.add_(part);
  }
}

}  // namespace cpize::trunk
