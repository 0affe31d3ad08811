// The hand-written autograd function of triangle attention: its parts, for triangle_attention.hpp alone.
//
// The core knows only rows. A row holds N pairs that attend to each other: row r of z for the starting node, column r
// of z for the ending node. "Core form" is [B, rows here, N, ...]; for the ending node it is z with its two token
// dimensions exchanged, so that with n = layer_norm(x) in core form, for every row r, head h, query i and key j:
//
//   s[r,h,i,j] = q[r,i,h] . k[r,j,h] / sqrt(d) + T[h,i,j] + 1e9 (mask[r,j] - 1),     T[h,i,j] = n[i,j] . linear[h]
//   y[r,i]     = linear_o( sigmoid(linear_g n[r,i]) * (softmax_j s) v )
//
// All rows read the same whole T, of which a rank makes what belongs to its rows (plain path), or to its shard of pairs
// (fused path): AttentionCall moves both.
#pragma once
#include <ATen/core/Tensor.h>
#include <torch/custom_class.h>

#include <array>
#include <memory>

#include "trunk/precision.hpp"
#include "trunk/triangle_attention/triangle_attention.hpp"

namespace cpize::trunk {

/// Added to the score of a masked key, negative.
inline constexpr double kMaskedKey = 1e9;

/// In a checkpoint's order.
struct AttentionWeights {
  at::Tensor norm, norm_bias;  // [C]
  at::Tensor linear;           // [H, C]
  at::Tensor q, k, v;          // [H d, C], head after head
  at::Tensor o;                // [C, H d]
  at::Tensor g;                // [H d, C]

  /// Each in the dtype it is used in.
  AttentionWeights cast(const Precision& precision) const;
};

/// What one panel holds: `rows` whole rows of scores, or `queries` queries of a single row.
struct AttentionPanels {
  std::int64_t rows, queries;
};

struct FusedAttention;  // attention_fused.hpp

/// One call: what forward and backward must agree on, and what forward leaves for backward. Travels in the autograd
/// node.
struct AttentionCall : torch::CustomClassHolder {
  MeshPtr mesh;
  Shape global;  // of z: [B,N,N,C]
  TriangleNode node = TriangleNode::starting;
  std::int64_t heads = 0, head_width = 0;
  Precision precision;
  AttentionPanels panels{};
  bool save = false;       // somebody will call backward
  bool residual = false;   // the result is z + y (fused path only)
  bool overwrite = false;  // and takes the place of z, since nobody will call backward

  at::Tensor mask;                        // what the plain path saves: in core form
  std::shared_ptr<FusedAttention> fused;  // what the fused path saves; null on the others
  bool efficient = false;                 // attention_efficient.hpp instead of the plain path

  /// The layout of this node's rows, stored in core form.
  Spec rows_spec() const;
  /// Core form to the order of the layout's dimensions and back: exchanges the two token dimensions, or nothing.
  at::Tensor turned(const at::Tensor& x) const;
  /// The global shape of what a shard `local` [B,..,..,...] is part of.
  Shape with_channels(const at::Tensor& local) const;
  /// This rank's rows in core form: [B, rows here, N, channels].
  Shape rows_shape(std::int64_t channels) const;

  /// Does core form need an exchange? Not where the group that shares rows has one rank: there core form is a view.
  bool exchanges_rows() const;
  /// This rank's shard of z, or of anything [B,N,N,...], from layout Pair to core form. Contiguous after an exchange,
  /// else a view with the strides of `local`, transposed for the ending node: channels stay next to each other.
  at::Tensor to_rows(at::Tensor local) const;
  /// The way back, to [B,n0,n1,...]; also the adjoint. Takes any strides.
  at::Tensor to_pairs(at::Tensor rows) const;
  /// Room for `channels` channels in core form, so that to_pairs() gives a contiguous tensor without a copy where no
  /// exchange is needed.
  at::Tensor empty_rows(std::int64_t channels, at::ScalarType dtype, at::Device device) const;

  /// This rank's part of h heads of T, in core form and heads first, any strides -> the whole of them, [B, h, N, N],
  /// contiguous after an exchange. The part is that of its rows, [B, h, rows here, N] (`of`: rows_spec()), or of its
  /// shard of pairs (Pair::spec), for which no rows need to have come. Sends (Q - 1) times the part, Q = cp0 * cp1;
  /// moves nothing where Q is 1.
  at::Tensor whole_bias(const at::Tensor& bias, const Spec& of) const;
  /// The adjoint: this rank's share of the gradient of the whole, [B, h, N, N] -> the sum of all ranks' shares at this
  /// rank's part. The sum runs in the dtype of the argument: give it at least fp32.
  at::Tensor bias_gradient(const at::Tensor& gradient, const Spec& of) const;
};

/// The plain path. x [B, rows here, N, C] and mask [B, rows here, N] in core form (mask in precision.operand), any
/// strides; writes y [B, rows here, N, C], precision.operand, any strides.
void attention_forward(const AttentionCall& call, const at::Tensor& x, const at::Tensor& mask,
                       const AttentionWeights& weights, const at::Tensor& y);

/// Which gradients are wanted, in this order.
enum AttentionGradient { kX, kNorm, kNormBias, kLinear, kQ, kK, kV, kO, kG };
using WantedAttention = std::array<bool, 9>;

struct AttentionGradients {
  at::Tensor x;  // shaped as x was given, in its dtype; undefined where not wanted
  AttentionWeights weights;
};
/// `gradient`: of y, in core form, any strides. The gradient of x may be put in its place where `consume_gradient`.
/// All ranks agree on `wanted`: it says whether the bias gradient is exchanged.
AttentionGradients attention_backward(const AttentionCall& call, const at::Tensor& x, const at::Tensor& mask,
                                      const AttentionWeights& weights, const at::Tensor& gradient,
                                      const WantedAttention& wanted, bool consume_gradient);

/// The function itself: y's local shard [B,n0,n1,C]; with `residual` z's plus y's, with `overwrite` in z's place where
/// that is possible.
at::Tensor triangle_attention(const Sharded<Pair>& z, const at::Tensor& mask, TriangleNode node, std::int64_t heads,
                              const TriangleAttentionOptions& options, const AttentionWeights& weights, bool residual,
                              bool overwrite);

}  // namespace cpize::trunk
