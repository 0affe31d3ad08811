#include <stdexcept>

#include "cmake/buildcheck/cuda_answers.hpp"

namespace cpize::buildcheck {

bool has_cuda() { return false; }
at::Tensor twice_on_gpu(const at::Tensor&) { throw std::runtime_error("built without CUDA"); }

}  // namespace cpize::buildcheck
