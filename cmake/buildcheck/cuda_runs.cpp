// A kernel of this build runs on the GPU; a build without CUDA says that it has none.
#include <ATen/ATen.h>

#include <cstdio>

#include "cmake/buildcheck/cuda_answers.hpp"

int main() {
  if (!cpize::buildcheck::has_cuda()) {
    try {
      cpize::buildcheck::twice_on_gpu(at::ones({4}));
    } catch (const std::exception& e) {
      return std::string(e.what()) == "built without CUDA" ? 0 : 1;
    }
    return 1;
  }
  const at::Tensor x = at::arange(1000, at::TensorOptions(at::kCUDA).dtype(at::kFloat));
  const bool right = cpize::buildcheck::twice_on_gpu(x).equal(x * 2);
  std::puts(right ? "the kernel computed 2 x" : "the kernel computed something else");
  return right ? 0 : 1;
}
