#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "random/fill_tensor.hpp"

namespace cpize::random {

void fill_on_gpu(const at::Tensor& out, Distribution distribution, const StreamKey& key, const StoredBox& box) {
  const c10::cuda::CUDAGuard guard(out.device());
  void* const stream = c10::cuda::getCurrentCUDAStream();
  if (out.scalar_type() == at::kDouble)
    cuda::fill(out.data_ptr<double>(), distribution, key, box, stream);
  else
    cuda::fill(out.data_ptr<float>(), distribution, key, box, stream);
}

}  // namespace cpize::random
