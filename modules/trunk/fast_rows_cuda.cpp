#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "trunk/cuda/pointwise_kernels.hpp"
#include "trunk/fast_rows.hpp"
#include "trunk/parameters.hpp"

namespace cpize::trunk {
namespace {

void* stream() { return c10::cuda::getCurrentCUDAStream(); }

at::Tensor wide(const at::Tensor& parameter) { return parameter.detach().to(at::kFloat).contiguous(); }

}  // namespace

bool fast_rows(const at::Tensor& rows, const Precision& precision) {
  return rows.is_cuda() && rows.scalar_type() == at::kBFloat16 && precision.operand == at::kBFloat16 &&
         rows.size(-1) == 128;
}

at::Tensor fast_normalise(const at::Tensor& rows, const at::Tensor& weight, const at::Tensor& bias) {
  const c10::cuda::CUDAGuard guard(rows.device());
  const at::Tensor x = rows.contiguous(), w = wide(weight), b = wide(bias);
  at::Tensor y = at::empty_like(x);
  cuda::normalise_rows(x.data_ptr(), w.data_ptr<float>(), b.data_ptr<float>(), kNormEpsilon, y.data_ptr(), x.size(0),
                       stream());
  return y;
}

at::Tensor fast_normalise_backward(const at::Tensor& gradient, const at::Tensor& rows, const at::Tensor& weight,
                                   const at::Tensor& weight_total, const at::Tensor& bias_total) {
  const c10::cuda::CUDAGuard guard(rows.device());
  const at::Tensor g = gradient.contiguous(), x = rows.contiguous(), w = wide(weight);
  at::Tensor dx = at::empty_like(x);
  const int blocks = cuda::normalise_rows_backward(nullptr, nullptr, nullptr, 0, nullptr, nullptr, x.size(0), stream());
  const at::Tensor partial = at::empty({blocks, 2, x.size(1)}, g.options());
  cuda::normalise_rows_backward(g.data_ptr<float>(), x.data_ptr(), w.data_ptr<float>(), kNormEpsilon, dx.data_ptr(),
                                partial.data_ptr<float>(), x.size(0), stream());
  const at::Tensor sums = partial.sum(0);
  at::Tensor of_weight = weight_total, of_bias = bias_total;
  if (of_weight.defined()) of_weight.add_(sums[0]);
  if (of_bias.defined()) of_bias.add_(sums[1]);
  return dx;
}

void fast_gate(const at::Tensor& u, const at::Tensor& v) {
  const c10::cuda::CUDAGuard guard(u.device());
  cuda::gate(u.data_ptr(), v.data_ptr(), u.data_ptr(), u.numel(), stream());
}

void fast_gate_backward(const at::Tensor& u, const at::Tensor& v, const at::Tensor& dh) {
  const c10::cuda::CUDAGuard guard(u.device());
  cuda::gate_backward(u.data_ptr(), v.data_ptr(), dh.data_ptr(), u.data_ptr(), v.data_ptr(), dh.data_ptr(), u.numel(),
                      stream());
}

}  // namespace cpize::trunk
