// Template features on a mesh: known structures of the chains, token by token, and where pairs of them are compared.
//
// Shapes: T templates a sample, tokens as dimension 2. At rest tokens are cut over cp0 x cp1 as in Single.
#pragma once
#include "layout/sharded.hpp"

namespace cpize::trunk {

struct TokenTemplate {
  static constexpr const char* name = "tokens of templates";
};
/// [B,T,N,...], N over cp0 x cp1.
struct TemplateSingle : Layout<TokenTemplate, On<dp>, On<>, On<cp0, cp1>> {};
/// [B,T,N,...], N over cp0 or over cp1: operands of pairs.
struct TemplateRow : Layout<TokenTemplate, On<dp>, On<>, On<cp0>> {};
struct TemplateCol : Layout<TokenTemplate, On<dp>, On<>, On<cp1>> {};

/// asym_id [B,N] integer. The others [B,T,N,..]: template_restype [33] one-hot (integer or float);
/// template_frame_rot [3,3] and template_frame_t [3], the backbone frames; template_cb and template_ca [3], Angstrom;
/// template_mask_frame, template_mask_cb and template_mask [], 1 where the frame, the CB or the token exist.
struct TemplateFeatures {
  Sharded<Single> asym_id;
  Sharded<TemplateSingle> template_restype, template_frame_rot, template_frame_t, template_mask_frame, template_cb,
      template_ca, template_mask_cb, template_mask;
};

/// What this rank's rows and columns know of their tokens.
struct TemplateTokens {
  at::Tensor types;                     // [B,T,n,33]
  at::Tensor cb, ca, rotation, origin;  // [B,T,n,3], and [B,T,n,3,3] of the rotation
  at::Tensor mask_cb, mask_frame;       // [B,T,n]
  at::Tensor chain;                     // [B,T,n]
};

/// The tokens of this rank's rows and of its columns. Communication: two all-to-alls of 54 numbers a token and
/// template, to the other ranks of its row and to its column. ContractError where the shapes do not belong together.
struct TemplateOperands {
  TemplateTokens rows, columns;
  static TemplateOperands gather(const TemplateFeatures& features, at::ScalarType dtype);
};

/// [B,T]: 1 where a template has any token, else 0; the same on all ranks of a sample. One all-to-all of B T numbers.
at::Tensor templates_given(const Sharded<TemplateSingle>& template_mask);

}  // namespace cpize::trunk
