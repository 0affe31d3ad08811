// The hand-written autograd function of pair-weighted averaging: its parts, for pair_weighted_averaging.hpp alone.
#pragma once
#include <torch/custom_class.h>

#include <array>
#include <vector>

#include "trunk/msa/pair_weighted_averaging.hpp"
#include "trunk/precision.hpp"

namespace cpize::trunk {

struct AveragingWeights {
  at::Tensor norm_m, norm_m_bias, norm_z, norm_z_bias, proj_m, proj_g, proj_z, proj_o;

  /// Each in the dtype it is used in.
  AveragingWeights cast(const Precision& precision) const;
};

/// Heads [begin, begin + size) whose weights exist together.
struct HeadGroup {
  std::int64_t begin, size;
};

/// One call: what forward and backward must agree on, and what forward leaves for backward. Travels in the autograd
/// node.
struct AveragingCall : torch::CustomClassHolder {
  MeshPtr mesh;
  Shape pairs;  // global [B,N,N]
  Precision precision;
  std::int64_t heads = 0, head_width = 0;
  std::int64_t depth = 1;  // MSA rows processed at a time
  std::int64_t panel = 0;  // pairs processed at a time
  bool save = false;       // somebody will call backward

  at::Tensor logits;  // saved: [B,n0,n1,H], penalties of masked pairs included

  std::vector<HeadGroup> groups;
};

// The weights, averaging_weights.cpp.

/// z's pairs [pairs here, token_z] and mask [B,n0,n1] -> call.logits.
void make_logits(AveragingCall& call, const at::Tensor& pairs, const Sharded<Pair>& mask,
                 const AveragingWeights& weights);
/// The whole weights of a group, [B,heads of the group,N,N] in call.precision.wide. Every rank gets them.
at::Tensor whole_weights(const AveragingCall& call, const HeadGroup& group);
/// The adjoint: this rank's share of the gradient of a group's whole weights -> the gradient of its logits in layout
/// Pair, [B,n0,n1,heads of the group], in the same dtype.
at::Tensor logit_gradients(const AveragingCall& call, const HeadGroup& group, const at::Tensor& weights,
                           const at::Tensor& gradient);
/// `wanted`: z, norm_z, its bias, proj_z.
struct PairGradients {
  at::Tensor z, norm_z, norm_z_bias, proj_z;
};
/// From the gradient of all logits [B,n0,n1,H].
PairGradients pair_gradients(const AveragingCall& call, const at::Tensor& dlogits, const at::Tensor& pairs,
                             const AveragingWeights& weights, const std::array<bool, 4>& wanted);

// The averages, averaging_forward.cpp and averaging_backward.cpp.

/// m [B,s,N,msa_s] -> y, as m.
at::Tensor averaging_forward(const AveragingCall& call, const at::Tensor& m, const AveragingWeights& weights);

struct AveragingGradients {
  at::Tensor m, z;
  AveragingWeights weights;
};
/// `wanted`: m, z, then the weights in their order.
AveragingGradients averaging_backward(const AveragingCall& call, const at::Tensor& m, const at::Tensor& pairs,
                                      const AveragingWeights& weights, const at::Tensor& gradient,
                                      const std::array<bool, 10>& wanted);

/// The function itself: y's local shard [B,s,N,msa_s].
at::Tensor pair_weighted_averaging(const Sharded<Msa>& m, const Sharded<Pair>& z, const Sharded<Pair>& mask,
                                   std::int64_t heads, const PairWeightedAveragingOptions& options,
                                   const AveragingWeights& weights);

}  // namespace cpize::trunk
