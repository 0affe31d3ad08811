// The transition on a mesh: a SwiGLU feed-forward block, applied to each row of a shard on its own.
//
//   y = fc3(silu(fc1 n) * fc2 n),  n = norm(x)
//
// Shapes: x [..., dim] in any layout whose last dimension is whole -> y [..., out_dim] in the same layout. dtype: that
// of x; under autocast that of autocast (the norm fp32). Communication: none. Saved: the input alone. Rows are
// processed in panels, so that the hidden channels of a whole shard never exist: peak above inputs about 1.5 b in
// forward and 3 b with backward (y and the returned gradient included, b one shard of x) for hidden = 4 dim. Backward
// is hand-written and has no backward of its own (NotImplemented).
#pragma once
#include "layout/sharded.hpp"
#include "trunk/parameters.hpp"

namespace cpize::trunk {

struct TransitionOptions {
  bool fused = true;  // on Hopper GPUs the fused kernels where they apply (transition_fused.hpp); false: the plain path
  std::int64_t panel_rows = 0;  // rows processed at a time; 0: a 32nd of the shard
};

/// Parameters, in order: norm.{weight,bias}, fc1.weight, fc2.weight [hidden, dim], fc3.weight [out_dim, hidden].
/// Gradients are this rank's share: reduce_gradients finishes them.
class TransitionImpl : public torch::nn::Module {
 public:
  /// `out_dim` 0 means `dim`.
  TransitionImpl(std::int64_t dim, std::int64_t hidden, std::int64_t out_dim = 0,
                 const TransitionOptions& options = {});

  template <class L>
  Sharded<L> forward(const Sharded<L>& x) {
    return x.with(forward_local(x.local()));
  }

  /// x + forward(x), for out_dim = dim: one pass over memory where the fused kernels apply. `overwrite`: x is the
  /// caller's own and may hold the result, which is done only where no gradients are recorded.
  template <class L>
  Sharded<L> residual(const Sharded<L>& x, bool overwrite = false) {
    return x.with(residual_local(x.local(), overwrite));
  }

  /// The same on plain tensors: rows are the last dimension.
  at::Tensor forward_local(const at::Tensor& x);
  at::Tensor residual_local(const at::Tensor& x, bool overwrite = false);

  TransitionOptions options;
  Norm norm;
  Projection fc1;
  Projection fc2;
  Projection fc3;

 private:
  at::Tensor apply(const at::Tensor& x, bool residual, bool overwrite);
};

/// The module holder. TORCH_MODULE's cannot call a `forward` that is a template.
class Transition : public torch::nn::ModuleHolder<TransitionImpl> {
 public:
  using torch::nn::ModuleHolder<TransitionImpl>::ModuleHolder;
  using Impl = TransitionImpl;

  template <class L>
  Sharded<L> operator()(const Sharded<L>& x) {
    return get()->forward(x);
  }
};

}  // namespace cpize::trunk
