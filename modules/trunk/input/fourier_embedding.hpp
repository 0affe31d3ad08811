// Fourier embedding on a mesh: a number as cosines of a fixed random projection, each number on its own.
//
//   y = cos(2 pi (w t + b))
//
// Source: Algorithm 22 of AlphaFold 3.
//
// Shapes: t [...] in any layout -> y [..., dim] in the same layout, in promote_types(dtype of t, dtype of w): also
// under autocast, since a cosine of a rounded angle is another cosine. Communication: none. Saved: the angles (a shard
// of y). Differentiable in t; the projection is frozen.
#pragma once
#include "layout/sharded.hpp"
#include "trunk/parameters.hpp"

namespace cpize::trunk {

/// Parameters, in order: proj.weight [dim, 1], proj.bias [dim]. They require no gradient and are part of a checkpoint.
class FourierEmbeddingImpl : public torch::nn::Module {
 public:
  explicit FourierEmbeddingImpl(std::int64_t dim);

  template <class L>
  Sharded<L> forward(const Sharded<L>& t) {
    return t.with(forward_local(t.local()));
  }

  /// The same on a plain tensor.
  at::Tensor forward_local(const at::Tensor& t) const;
  /// Gradient of t, from that of y [..., dim]:  dt = -2 pi sum over channels of dy w sin(2 pi (w t + b)).
  at::Tensor backward_local(const at::Tensor& t, const at::Tensor& dy) const;

  BiasedProjection proj;

 private:
  at::Tensor angle(const at::Tensor& t) const;
};

/// The module holder. TORCH_MODULE's cannot call a `forward` that is a template.
class FourierEmbedding : public torch::nn::ModuleHolder<FourierEmbeddingImpl> {
 public:
  using torch::nn::ModuleHolder<FourierEmbeddingImpl>::ModuleHolder;
  using Impl = FourierEmbeddingImpl;

  template <class L>
  Sharded<L> operator()(const Sharded<L>& t) {
    return get()->forward(t);
  }
};

}  // namespace cpize::trunk
