// The hand-written autograd function of the outer product mean: its parts, for outer_product_mean.hpp alone.
#pragma once
#include <torch/custom_class.h>

#include <array>

#include "trunk/msa/outer_product_mean.hpp"
#include "trunk/precision.hpp"

namespace cpize::trunk {

struct OuterProductWeights {
  at::Tensor norm, norm_bias, proj_a, proj_b, proj_o, proj_o_bias;
};

/// One call: what forward and backward must agree on, and what forward leaves for backward. Travels in the autograd
/// node.
struct OuterProductCall : torch::CustomClassHolder {
  MeshPtr mesh;
  Shape global;  // of m
  Precision precision;
  std::int64_t hidden = 0;
  std::int64_t tile_rows = 1;  // row tokens of a tile of pairs; it has all column tokens of this rank
  std::int64_t panel = 0;
  bool save = false;  // somebody will call backward

  at::Tensor a;      // saved: [B,S,n0,h]
  at::Tensor b;      // saved: [B,S,h,n1], channels outermost, so that a product gives tiles [n0,h,h,n1]
  at::Tensor count;  // saved: [B,n0,n1], at least 1

  /// [B,S,N,channels]
  Shape shape(std::int64_t channels) const { return {global[0], global[1], global[2], channels}; }
};

// The operands, outer_product_operands.cpp.

/// m's rows [positions here, msa_s], mask [positions here, 1] -> fills call.a, call.b and call.count.
void make_operands(OuterProductCall& call, const at::Tensor& rows, const at::Tensor& mask,
                   const OuterProductWeights& weights);

/// `wanted`: m, norm, its bias, proj_a, proj_b.
struct OperandGradients {
  at::Tensor m, norm, norm_bias, proj_a, proj_b;
};
/// From the gradients of call.a and call.b as this rank's tiles make them, shaped alike, in the operand's dtype.
OperandGradients operand_gradients(const OuterProductCall& call, at::Tensor da, at::Tensor db, const at::Tensor& rows,
                                   const at::Tensor& mask, const OuterProductWeights& weights,
                                   const std::array<bool, 7>& wanted);

// The tiles, outer_product_tiles.cpp.

/// z's shard [B,n0,n1,token_z].
at::Tensor product_tiles(const OuterProductCall& call, const OuterProductWeights& weights);

struct TileGradients {
  at::Tensor a, b;                 // shaped as call.a and call.b; undefined unless wanted
  at::Tensor proj_o, proj_o_bias;  // totals
};
/// From the gradient of z's shard.
TileGradients tile_gradients(const OuterProductCall& call, const OuterProductWeights& weights,
                             const at::Tensor& gradient, bool wants_operands, bool wants_proj_o,
                             bool wants_proj_o_bias);

/// The function itself: z's local shard [B,n0,n1,token_z].
at::Tensor outer_product_mean(const Sharded<Msa>& m, const at::Tensor& mask, const OuterProductMeanOptions& options,
                              const OuterProductWeights& weights);

}  // namespace cpize::trunk
