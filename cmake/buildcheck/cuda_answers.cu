#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include "cmake/buildcheck/cuda_answers.hpp"

namespace cpize::buildcheck {
namespace {

__global__ void twice(float* out, const float* in, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = 2 * in[i];
}

}  // namespace

bool has_cuda() { return true; }

at::Tensor twice_on_gpu(const at::Tensor& x) {
  at::Tensor out = at::empty_like(x);
  const int n = static_cast<int>(x.numel());
  twice<<<(n + 127) / 128, 128, 0, c10::cuda::getCurrentCUDAStream()>>>(out.data_ptr<float>(), x.data_ptr<float>(), n);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

}  // namespace cpize::buildcheck
