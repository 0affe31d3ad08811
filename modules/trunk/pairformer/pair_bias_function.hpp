// The hand-written autograd function of the attention with pair bias: its parts, for attention_pair_bias.hpp alone.
#pragma once
#include <torch/custom_class.h>

#include <array>
#include <optional>

#include "layout/redistribute.hpp"
#include "trunk/pairformer/attention_pair_bias.hpp"
#include "trunk/precision.hpp"
#include "trunk/row_panels.hpp"

namespace cpize::trunk {

/// norm, norm_bias and bias are empty where the bias itself is given.
struct PairBiasWeights {
  at::Tensor key, value, norm, norm_bias, bias;
};

/// The logit of an excluded key: exp of it is 0 beside any real one, and it is finite, so that a shard of excluded keys
/// alone makes no NaN.
inline constexpr double kExcludedLogit = -1e9;

/// One call: what forward and backward must agree on, and what forward leaves for backward. Travels in the autograd
/// node. Letters: b samples here, n row tokens and m column tokens here, M copies, H heads, d their width.
struct PairBiasCall : torch::CustomClassHolder {
  MeshPtr mesh;
  Shape queries, keys;  // global shapes [B,Q,M,C] and [B,K,M,C]
  std::int64_t heads = 0, width = 0, copies = 1;
  Precision precision;
  bool projected = true;             // z is projected to the bias; else it is the bias
  at::ScalarType norm = at::kFloat;  // dtype of the norm over z
  bool fused = false;                // the bias comes from kernels (pair_bias_fused.hpp)
  std::int64_t rows = 1;             // row tokens of one panel
  at::Tensor excluded;               // [b,m] bool: keys that are masked while others of the sample are not

  at::Tensor row_queries;    // saved: q [b,n,M,C]
  at::Tensor column_tokens;  // saved: k_in [b,m,M,C]
  at::Tensor maxima;         // saved: [b,n,M,H], over all keys
  at::Tensor sums;           // saved: [b, tokens owned here, M, H, d + 1], numerators and denominator over all keys
  bool save = false;         // somebody will call backward

  /// x [b,t,M,H*c] or [b,t,M,H,c] as [b,M*H,t,c] in the dtype `wide`, a copy.
  at::Tensor by_head(const at::Tensor& x) const;
  /// The way back: [b,M*H,t,c] as [b,t,M,H*c].
  at::Tensor by_token(const at::Tensor& x) const;
};

/// k and v of the column tokens, by head, with zeros at excluded keys.
struct KeysAndValues {
  at::Tensor keys, values;
};
KeysAndValues keys_and_values(const PairBiasCall& call, const at::Tensor& column_tokens,
                              const PairBiasWeights& weights);

/// The bias of a panel of pairs, and what its backward needs.
struct BiasPanel {
  /// z [pairs, c_z]
  BiasPanel(const PairBiasCall& call, const at::Tensor& z, const PairBiasWeights& weights);
  at::Tensor rows;     // z in the norm's dtype
  NormedRows normed;   // of rows
  at::Tensor operand;  // the normed rows in the operand's dtype
  at::Tensor bias;     // [pairs, H]
};

/// Logits [M*H, rows, m] of one panel: queries [M*H, rows, d] (scaled), keys [M*H, m, d], z [rows, m, c_z], excluded
/// [m]. Leaves in `panel` what backward needs of the bias, unless that is fused.
at::Tensor panel_logits(const PairBiasCall& call, const at::Tensor& queries, const at::Tensor& keys,
                        const at::Tensor& z, const PairBiasWeights& weights, const at::Tensor& excluded,
                        std::optional<BiasPanel>* panel = nullptr);

/// -> o [b, tokens owned here, M, C], before the gate. Leaves in `call` what backward needs.
at::Tensor pair_bias_forward(PairBiasCall& call, const at::Tensor& q, const at::Tensor& k_in, const at::Tensor& z,
                             const PairBiasWeights& weights);

struct PairBiasGradients {
  at::Tensor q, k_in, z;
  PairBiasWeights weights;
};
/// `wanted`: q, k_in, z, then the weights in their order. `consume`: what was saved may be released on the way.
PairBiasGradients pair_bias_backward(PairBiasCall& call, const at::Tensor& q, const at::Tensor& k_in,
                                     const at::Tensor& z, const PairBiasWeights& weights, const at::Tensor& gradient,
                                     const std::array<bool, 8>& wanted, bool consume);

/// The function itself: the attention's local result, shaped as q's shard.
at::Tensor pair_bias_attention(const Sharded<Single>& q, const Sharded<Single>& k_in, const Sharded<Pair>& z,
                               const Sharded<Single>& mask, const PairBiasWeights& weights,
                               const AttentionPairBiasOptions& options);

}  // namespace cpize::trunk
