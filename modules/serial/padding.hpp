// Padding at the entry of a composition: whatever padded tokens hold (NaN included) is replaced by zero, so no result
// depends on it.
#pragma once
#include "serial/relative_position_encoder.hpp"
#include "serial/token_input_embedder.hpp"

namespace cpize::serial {

/// token_pad_mask [B,N] (1 valid, 0 padding) -> pair mask [B,N,N], the outer product, in the dtype of the token mask.
at::Tensor pair_mask(const at::Tensor& token_pad_mask);

/// x [B,N,...] or [B,N,N,...] with zero wherever `mask` ([B,N] or [B,N,N]) is 0. A selection, not a product: NaN does
/// not survive it, and the gradient of what was replaced is exactly zero.
at::Tensor zero_padding(const at::Tensor& x, const at::Tensor& mask);
TokenInputFeatures zero_padding(const TokenInputFeatures& features, const at::Tensor& token_pad_mask);
RelativePositionFeatures zero_padding(const RelativePositionFeatures& features, const at::Tensor& token_pad_mask);

}  // namespace cpize::serial
