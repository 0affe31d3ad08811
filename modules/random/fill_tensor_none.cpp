// Without CUDA there is no GPU to draw on.
#include "error/error.hpp"
#include "random/fill_tensor.hpp"

namespace cpize::random {

void fill_on_gpu(const at::Tensor&, Distribution, const StreamKey&, const StoredBox&) {
  throw NotImplemented("this build has no GPU kernels (CPIZE_CUDA is OFF)");
}

}  // namespace cpize::random
