// Without CUDA there are no fast pairs.
#include "error/error.hpp"
#include "trunk/fast_pairs.hpp"

namespace cpize::trunk {
namespace {

[[noreturn]] void refuse() { throw NotImplemented("this build has no GPU kernels (CPIZE_CUDA is OFF)"); }

}  // namespace

bool fast_pairs(const at::Tensor&, std::int64_t) { return false; }
void fast_assemble(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, at::TensorList,
                   const at::Tensor&, const at::Tensor&) {
  refuse();
}
void fast_pair_sums(const at::Tensor&, at::TensorList, const at::Tensor&, const at::Tensor&, const at::Tensor&) {
  refuse();
}

}  // namespace cpize::trunk
