// Fill on the GPU of a tensor: NotImplemented in a build without CUDA.
#pragma once
#include <ATen/core/Tensor.h>

#include "random/fill.hpp"

namespace cpize::random {

/// `out`: contiguous, fp32 or fp64, of the box's size, on a GPU; in the order of its device's current stream.
void fill_on_gpu(const at::Tensor& out, Distribution distribution, const StreamKey& key, const StoredBox& box);

}  // namespace cpize::random
