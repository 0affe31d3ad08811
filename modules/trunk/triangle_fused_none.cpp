// Without CUDA there is no fused path.
#include "error/error.hpp"
#include "trunk/triangle_fused.hpp"

namespace cpize::trunk {
namespace {

[[noreturn]] void refuse() {
  throw NotImplemented("this build has no fused triangle multiplication (CPIZE_CUDA is OFF)");
}

}  // namespace

std::shared_ptr<FusedTriangle> make_fused_triangle(const TriangleCall&, const at::Tensor&, std::int64_t) { return {}; }

at::Tensor fused_triangle_forward(TriangleCall&, const at::Tensor&, const at::Tensor&, const TriangleWeights&) {
  refuse();
}

TriangleGradients fused_triangle_backward(TriangleCall&, const at::Tensor&, const at::Tensor&, const TriangleWeights&,
                                          const at::Tensor&, const std::array<bool, 9>&, bool) {
  refuse();
}

}  // namespace cpize::trunk
