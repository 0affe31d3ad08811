// What this build says of CUDA: a kernel's answer where it was built with CPIZE_CUDA, none where it was not.
#pragma once
#include <ATen/core/Tensor.h>

namespace cpize::buildcheck {

/// Whether GPU kernels were compiled in.
bool has_cuda();
/// 2 * x, computed by a kernel of ours on x's GPU; x is float and contiguous. Throws in a build without CUDA.
at::Tensor twice_on_gpu(const at::Tensor& x);

}  // namespace cpize::buildcheck
