// Without CUDA there is no fused path.
#include "error/error.hpp"
#include "trunk/pairformer/pair_bias_fused.hpp"

namespace cpize::trunk {
namespace {

[[noreturn]] void refuse() { throw NotImplemented("this build has no fused pair bias (CPIZE_CUDA is OFF)"); }

}  // namespace

bool takes_fused_bias(const PairBiasCall&, const at::Tensor&, const PairBiasWeights&) { return false; }

at::Tensor fused_bias(const at::Tensor&, const PairBiasWeights&, const at::Tensor&) { refuse(); }

at::Tensor fused_bias_backward(const at::Tensor&, const at::Tensor&, const PairBiasWeights&, const at::Tensor&) {
  refuse();
}

void add_fused_bias_gradients(const at::Tensor&, const PairBiasWeights&, const PairBiasWeights&) { refuse(); }

}  // namespace cpize::trunk
