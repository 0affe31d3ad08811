// The parameter holders of the ports: a projection and an affine layer normalisation, named as a checkpoint names them.
//
// Every rank constructs its own leaves. They start as a fixed, mesh-independent value (projections zero, norms the
// identity) and are then loaded from a serial model or a checkpoint: nothing here touches the global generator, whose
// draws would differ between ranks.
#pragma once
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

namespace cpize::trunk {

/// Parameter: weight [out, in].
class ProjectionImpl : public torch::nn::Module {
 public:
  ProjectionImpl(std::int64_t in, std::int64_t out);
  at::Tensor weight;
};
TORCH_MODULE(Projection);

/// Parameters: weight [out, in], bias [out].
class BiasedProjectionImpl : public ProjectionImpl {
 public:
  BiasedProjectionImpl(std::int64_t in, std::int64_t out);
  at::Tensor bias;
};
TORCH_MODULE(BiasedProjection);

/// Parameters: weight [dim], bias [dim]; epsilon is kNormEpsilon.
class NormImpl : public torch::nn::Module {
 public:
  explicit NormImpl(std::int64_t dim);
  at::Tensor weight, bias;
};
TORCH_MODULE(Norm);

inline constexpr double kNormEpsilon = 1e-5;

}  // namespace cpize::trunk
