// Fast rows: one pass over memory for what a block does between its projections, on GPUs (cuda/pointwise_kernels.hpp).
//
// For bf16 rows of 128 channels; everything else takes the plain path (row_panels.hpp). The norm's parameters stay
// fp32.
#pragma once
#include <ATen/core/Tensor.h>

#include "trunk/precision.hpp"

namespace cpize::trunk {

/// Whether the functions below take these rows.
bool fast_rows(const at::Tensor& rows, const Precision& precision);

/// rows, weight, bias (any dtype) -> normalised rows, bf16.
at::Tensor fast_normalise(const at::Tensor& rows, const at::Tensor& weight, const at::Tensor& bias);
/// gradient [rows, 128] fp32 -> that of the rows, bf16; adds the parameters' to the totals that are defined.
at::Tensor fast_normalise_backward(const at::Tensor& gradient, const at::Tensor& rows, const at::Tensor& weight,
                                   const at::Tensor& weight_total, const at::Tensor& bias_total);

/// u becomes silu(u) v.
void fast_gate(const at::Tensor& u, const at::Tensor& v);
/// With dh the gradient of h = silu(u) v: u becomes its own gradient, v likewise, and dh becomes h.
void fast_gate_backward(const at::Tensor& u, const at::Tensor& v, const at::Tensor& dh);

}  // namespace cpize::trunk
