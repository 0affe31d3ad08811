// Parity of the MSA layer, a composition: two tracks in two layouts.
#include "trunk/msa/msa_layer.hpp"

#include "layout/redistribute.hpp"
#include "parity/harness/block_parity.hpp"
#include "parity/trunk/msa/msa_layer_case.hpp"
#include "serial/padding.hpp"
#include "trunk/padding.hpp"

using namespace cpize;
using namespace cpize::parity;

/// x [B,S,N,M] where the token [B,N] is valid, elsewhere zero: padded tokens have no valid partner, their averages are
/// padding.
static at::Tensor valid_tokens(const at::Tensor& x, const at::Tensor& tokens) {
  return at::where(tokens.ne(0).unsqueeze(1).unsqueeze(3), x, at::zeros({}, x.options()));
}

static BlockCase msa_layer() {
  return with_msa_widths(BlockCase("msa_layer")
                             .input<Pair>("z", {"B", "N", "N", "C"})
                             .masked_by("token_mask")
                             .input<Msa>("m", {"B", "S", "N", "M"})
                             .masked_by("row_mask")
                             .mask<Single>("token_mask", {"B", "N"})
                             .mask<Msa>("msa_mask", {"B", "S", "N"})
                             .mask<Msa>("row_mask", {"B", "S"})
                             .output("z_out", {"B", "N", "N", "C"})
                             .masked_by("token_mask")
                             .output("m_out", {"B", "S", "N", "M"})
                             .masked_by("row_mask")
                             .size("S", 5))
      .serial([](const Sizes& s) { return serial::MsaLayer(msa_layer_options<serial::MsaLayerOptions>(s)); },
              [](auto& layer, const Tensors& in) {
                const at::Tensor tokens = in["token_mask"];
                const auto [z, m] =
                    layer(in["z"], in["m"], serial::pair_mask(tokens), in["msa_mask"] * in["row_mask"].unsqueeze(2));
                return Tensors{{"z_out", z}, {"m_out", valid_tokens(m, tokens)}};
              })
      .port([](const Sizes& s) { return trunk::MsaLayer(msa_layer_options<trunk::MsaLayerOptions>(s)); },
            [](auto& layer, const ShardedTensors& in) {
              const auto token_mask = in.get<Single>("token_mask");
              const auto mask = in.get<Msa>("msa_mask");
              const at::Tensor tokens = redistribute<SingleWhole>(token_mask).local();
              const at::Tensor rows = in.get<Msa>("row_mask").local().unsqueeze(2);
              const auto [z_out, m_out] = layer(in.get<Pair>("z"), in.get<Msa>("m"), trunk::pair_mask(token_mask),
                                                mask.with(mask.local() * rows));
              return ShardedTensors{{"z_out", z_out}, {"m_out", m_out.with(valid_tokens(m_out.local(), tokens))}};
            })
      .contraction(msa_layer_sums(1, "S"))
      .zero_gradient({without_gradient("")})
      .bound("sent_bytes.forward",
             [](const CostPoint& p) { return msa_layer_forward_bytes(p) + pair_mask_bytes(p) + whole_mask_bytes(p); })
      .bound("sent_bytes.backward", msa_layer_backward_bytes)
      // the case itself makes another m of its output
      .bound("peak_bytes.forward", [](const CostPoint& p) { return msa_layer_forward_peak(p) + msa_shard(p); })
      .bound("peak_bytes.step", [](const CostPoint& p) { return msa_layer_step(p) + msa_shard(p); })
      .bound("saved_bytes", [](const CostPoint& p) { return msa_layer_saved(p) + msa_shard(p); });
}

CPIZE_PARITY_MAIN(msa_layer)
