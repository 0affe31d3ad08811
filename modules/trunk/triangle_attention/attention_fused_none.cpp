// Without CUDA there is no fused path.
#include "error/error.hpp"
#include "trunk/triangle_attention/attention_fused.hpp"

namespace cpize::trunk {
namespace {

[[noreturn]] void refuse() { throw NotImplemented("this build has no fused triangle attention (CPIZE_CUDA is OFF)"); }

}  // namespace

std::shared_ptr<FusedAttention> make_fused_attention(const AttentionCall&, const at::Tensor&) { return {}; }

at::Tensor fused_attention_forward(AttentionCall&, const at::Tensor&, const at::Tensor&, const AttentionWeights&) {
  refuse();
}

AttentionGradients fused_attention_backward(AttentionCall&, const at::Tensor&, const AttentionWeights&,
                                            const at::Tensor&, const WantedAttention&, bool) {
  refuse();
}

}  // namespace cpize::trunk
