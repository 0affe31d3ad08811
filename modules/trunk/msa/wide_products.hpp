// Matrix products whose sums run in promote_types(dtype, fp32), whatever the device.
//
// A GPU sums the products of narrow operands in fp32 by itself and can return them so. The CPU's would be rounded on
// the way: there the operands are widened first.
#pragma once
#include <ATen/core/Tensor.h>

namespace cpize::trunk {

/// a [n,k], b [k,m] -> [n,m] in `wide` = promote_types(their dtype, fp32).
at::Tensor wide_product(const at::Tensor& a, const at::Tensor& b, at::ScalarType wide);
/// The same, rounded once to the dtype of the operands.
at::Tensor narrow_product(const at::Tensor& a, const at::Tensor& b, at::ScalarType wide);

/// One right factor for a whole stack: a [p,n,k], b [k,m] -> [p,n,m] in `wide`. Neither is copied, however they are
/// transposed: one batched product on a GPU, p products on the CPU.
at::Tensor wide_stack_product(const at::Tensor& a, const at::Tensor& b, at::ScalarType wide);
/// One left factor for a whole stack: a [n,k], b [p,k,m] -> [p,n,m], rounded once to the dtype of the operands.
at::Tensor narrow_stack_product(const at::Tensor& a, const at::Tensor& b, at::ScalarType wide);
/// gradient [rows, out]^T x [rows, in] added to `total` [out, in] (any strides; skipped where undefined). As
/// add_weight_gradient, but each panel is summed by itself first: many small panels then lose no more than one long
/// sum does.
void add_panel_gradient(const at::Tensor& total, const at::Tensor& gradient, const at::Tensor& x);
/// sum over p of a[p]^T b[p]: a [p,k,n], b [p,k,m] -> [n,m], added to `total` (in `wide`, any strides).
void add_stack_product(const at::Tensor& total, const at::Tensor& a, const at::Tensor& b);

}  // namespace cpize::trunk
