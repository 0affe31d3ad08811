// Without CUDA there is no fused path.
#include "error/error.hpp"
#include "trunk/transition_fused.hpp"

namespace cpize::trunk {
namespace {

[[noreturn]] void refuse() { throw NotImplemented("this build has no fused transition (CPIZE_CUDA is OFF)"); }

}  // namespace

bool takes_fused_transition(const at::Tensor&, const Precision&, const TransitionWeights&) { return false; }

at::Tensor fused_transition_forward(const at::Tensor&, const TransitionWeights&, bool, bool) { refuse(); }

TransitionGradients fused_transition_backward(const at::Tensor&, const TransitionWeights&, const at::Tensor&, bool,
                                              const std::array<bool, 6>&) {
  refuse();
}

}  // namespace cpize::trunk
