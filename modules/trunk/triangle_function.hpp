// The hand-written autograd function of the triangle multiplication: its parts, for triangle_multiplication.hpp alone.
#pragma once
#include <torch/custom_class.h>

#include <memory>
#include <vector>

#include "trunk/channel_chunks.hpp"
#include "trunk/precision.hpp"
#include "trunk/triangle_multiplication.hpp"

namespace cpize::trunk {

struct TriangleWeights {
  at::Tensor norm_in, norm_in_bias, p_in, g_in, norm_out, norm_out_bias, p_out, g_out;

  /// Each in the dtype it is used in.
  TriangleWeights cast(const Precision& precision) const;
};

struct FusedTriangle;  // triangle_fused.hpp

/// One call: what forward and backward must agree on, and what forward leaves for backward. Travels in the autograd
/// node.
struct TriangleCall : torch::CustomClassHolder {
  MeshPtr mesh;
  Shape global;  // of z
  TriangleDirection direction = TriangleDirection::outgoing;
  Precision precision;
  std::vector<ChannelChunk> chunks;
  std::int64_t panel = 0;
  bool save = false;       // somebody will call backward
  bool residual = false;   // the result is z + y (fused path only)
  bool overwrite = false;  // and takes the place of z, since nobody will call backward

  std::vector<at::Tensor> edges;  // saved, per chunk: a and b, [B, its channels here, 2, N, N]
  at::Tensor sums;                // saved: o, [pairs here, C]

  std::shared_ptr<FusedTriangle> fused;  // what the fused path saves instead; null on the plain path

  /// A shard with trailing dimensions `trailing` from layout Pair to PairByChannel, as [B, d, trailing.., N, N].
  at::Tensor to_channels(at::Tensor local, const Shape& trailing) const;
  /// The way back, to [B, n0, n1, trailing..].
  at::Tensor to_pairs(at::Tensor channels, const Shape& trailing) const;
};

/// o of one chunk, [B,d,N,N] in the dtype of `edges`, summed in `wide`; in `place` where that is given (on a GPU).
at::Tensor multiply_edges(const at::Tensor& edges, TriangleDirection direction, at::ScalarType wide,
                          const at::Tensor& place = {});
/// Gradients of a and b, shaped and typed as `edges`, from that of o; `place` likewise.
at::Tensor edge_gradients(const at::Tensor& sum_gradient, const at::Tensor& edges, TriangleDirection direction,
                          at::ScalarType wide, const at::Tensor& place = {});

/// rows [pairs here, C], mask [pairs here, 1] -> y [pairs here, C].
at::Tensor triangle_forward(TriangleCall& call, const at::Tensor& rows, const at::Tensor& mask,
                            const TriangleWeights& weights);

struct TriangleGradients {
  at::Tensor z;  // [pairs here, C]
  TriangleWeights weights;
};
/// `wanted`: z, then the weights in their order. `consume`: what was saved may be overwritten and released on the way.
TriangleGradients triangle_backward(TriangleCall& call, const at::Tensor& rows, const at::Tensor& mask,
                                    const TriangleWeights& weights, const at::Tensor& gradient,
                                    const std::array<bool, 9>& wanted, bool consume);

/// The function itself: y's local shard [B,n0,n1,C]; with `residual` z's plus y's, with `overwrite` in z's place where
/// that is possible.
at::Tensor triangle_multiplication(const Sharded<Pair>& z, const at::Tensor& mask, TriangleDirection direction,
                                   const TriangleMultiplicationOptions& options, const TriangleWeights& weights,
                                   bool residual, bool overwrite);

}  // namespace cpize::trunk
