// Parity of the MSA module in training mode: dropout with serial's draws, a subsample of the rows, NaN in the padding
// of the features.
#include "trunk/msa/msa_module.hpp"

#include <limits>

#include "layout/redistribute.hpp"
#include "parity/harness/block_parity.hpp"
#include "parity/trunk/msa/msa_layer_case.hpp"
#include "random/draw.hpp"

using namespace cpize;
using namespace cpize::parity;

static constexpr int kBlocks = 2;

template <class Options>
static Options module_options(const Sizes& s) {
  Options options;
  options.layer = msa_layer_options<decltype(options.layer)>(s);
  options.token_s = s["token_s"];
  options.msa_blocks = kBlocks;
  options.subsample_msa = true;
  options.num_subsampled_msa = s["kept"];
  return options;
}

/// Each of `size` rows once: 5 and the sizes of this case have no common factor.
static at::Tensor permutation(std::int64_t size, const at::Tensor& like) {
  return at::arange(size, like.options().dtype(at::kLong)).mul(5).add(1).remainder(size);
}

static BlockCase with_alignment(BlockCase block) {
  const auto shape = [](const Sizes& s) { return Shape{s["B"], s["S"], s["N"]}; };
  const auto types = [shape](const Sizes& s, at::Generator& g) {
    return at::randint(0, 33, shape(s), g, at::TensorOptions().dtype(at::kLong));
  };
  const auto flags = [shape](const Sizes& s, at::Generator& g) {
    return at::rand(shape(s), g, at::TensorOptions().dtype(at::kDouble)).gt(0.6).to(at::kDouble);
  };
  const auto numbers = [shape](const Sizes& s, at::Generator& g) {
    return at::rand(shape(s), g, at::TensorOptions().dtype(at::kDouble));
  };
  block.feature<Msa>("msa", {"B", "S", "N"}).values(types).masked_by("row_mask");
  block.feature<Msa>("has_deletion", {"B", "S", "N"}).values(flags).masked_by("row_mask");
  block.feature<Msa>("deletion_value", {"B", "S", "N"}).values(numbers).masked_by("row_mask");
  block.feature<Msa>("msa_paired", {"B", "S", "N"}).values(flags).masked_by("row_mask");
  return block;
}

/// Features as they may come: NaN or wild numbers in padded tokens and rows, a mask that also varies inside.
template <class Features, class Get, class Put>
static Features alignment(const at::Tensor& tokens, const Get& get, const Put& put) {
  const at::Tensor rows = get("row_mask").unsqueeze(2);
  const at::Tensor valid = rows.ne(0).logical_and(tokens.ne(0).unsqueeze(1));
  const auto feature = [&](const char* name) {
    const at::Tensor x = get(name);
    const double padding = x.is_floating_point() ? std::numeric_limits<double>::quiet_NaN() : 1'000'003;
    return put(at::where(valid, x, at::full({}, padding, x.options())));
  };
  return {feature("msa"), feature("has_deletion"), feature("deletion_value"), feature("msa_paired"),
          put(get("msa_mask") * valid)};
}

/// Five features in the width of features, to the tokens and, selected, back to the rows.
static double subsample_bytes(const CostPoint& p) {
  const double one = std::max(4., p.element_bytes) / p.element_bytes * 5 * msa_bytes(p, 1) / p.q();
  const double rows = p.mesh.extent(Axis::cp0), kept = static_cast<double>(p.sizes["kept"]);
  return one * p.q() / rows * (p.q() - 1 + (rows - 1) * kept / static_cast<double>(p.sizes["S"]));
}
/// A layer's bytes and shards are those of the kept rows.
static CostPoint kept(CostPoint p) {
  p.sizes.set("S", p.sizes["kept"]);
  return p;
}
/// The projected tokens, to every rank.
static double token_bytes(const CostPoint& p) {
  return p.element_bytes * static_cast<double>(p.sizes["N"] * p.sizes["M"]) * (p.q() - 1) / p.q();
}

/// Dropout makes z and m promote_types(dtype, fp32): what a bf16 layer keeps of them, and what the triangle attentions
/// send of their inputs, is wider.
static double wider_inputs(const CostPoint& p) { return kBlocks * (wide(p) - 1) * (6 * p.b() + 3 * msa_shard(p)); }
static double wider_rows(const CostPoint& p) {
  const double channels = static_cast<double>(p.sizes["C"]);
  return kBlocks * (wide(p) - 1) * (attention_rows_bytes(p, cp1, channels) + attention_rows_bytes(p, cp0, channels));
}

static BlockCase msa_module() {
  const random::Stream root(7, "msa_module", 3);
  return with_msa_widths(with_alignment(BlockCase("msa_module")
                                            .input<Pair>("z", {"B", "N", "N", "C"})
                                            .masked_by("token_pad_mask")
                                            .input<Single>("s_inputs", {"B", "N", "token_s"})
                                            .masked_by("token_pad_mask")
                                            .mask<Single>("token_pad_mask", {"B", "N"})
                                            .mask<Msa>("msa_mask", {"B", "S", "N"})
                                            .mask<Msa>("row_mask", {"B", "S"})
                                            .output("z_out", {"B", "N", "N", "C"})
                                            .masked_by("token_pad_mask")
                                            .size("S", 7)
                                            .size("kept", 5)))
      .serial([](const Sizes& s) { return serial::MsaModule(module_options<serial::MsaModuleOptions>(s)); },
              [root](auto& module, const Tensors& in) {
                const at::Tensor tokens = in["token_pad_mask"];
                const auto features = alignment<serial::MsaFeatures>(
                    tokens, [&](const char* name) { return in[name]; }, [](at::Tensor x) { return x; });
                const serial::Dropout dropout(random::uniform_source(root, tokens.device()));
                return Tensors{{"z_out", module(in["z"], in["s_inputs"], features, tokens, dropout,
                                                permutation(in["msa"].size(1), tokens))}};
              })
      .port([](const Sizes& s) { return trunk::MsaModule(module_options<trunk::MsaModuleOptions>(s)); },
            [root](auto& module, const ShardedTensors& in) {
              const auto tokens = in.get<Single>("token_pad_mask");
              const auto rows = in.get<Msa>("msa");
              const auto features = alignment<trunk::MsaFeatures>(
                  redistribute<SingleWhole>(tokens).local(),
                  [&](const char* name) { return in.get<Msa>(name).local(); },
                  [&](const at::Tensor& x) { return rows.with(x); });
              return ShardedTensors{
                  {"z_out", module(in.get<Pair>("z"), in.get<Single>("s_inputs"), features, tokens,
                                   trunk::Dropout(root), permutation(rows.global()[1], tokens.local()))}};
            })
      .contraction([] {
        auto sums = msa_layer_sums(kBlocks, "kept");
        sums.insert(sums.end(), {"token_s", "36"});
        return sums;
      }())
      .zero_gradient({without_gradient("layers.0."), without_gradient("layers.1.")})
      .bound("sent_bytes.forward",  // the case needs the token mask whole, as the entry does
             [](const CostPoint& p) {
               return kBlocks * msa_layer_forward_bytes(kept(p)) + pair_mask_bytes(p) + 2 * whole_mask_bytes(p) +
                      token_bytes(p) + subsample_bytes(p) + wider_rows(p);
             })
      .bound("sent_bytes.backward",
             [](const CostPoint& p) {
               return kBlocks * msa_layer_backward_bytes(kept(p)) + token_bytes(p) + wider_rows(p);
             })
      .bound("peak_bytes.forward",
             [](const CostPoint& p) { return msa_layer_forward_peak(kept(p)) + 3 * msa_shard(p); })
      .bound("peak_bytes.step",
             [](const CostPoint& p) {
               return (kBlocks - 1) * msa_layer_saved(kept(p)) + msa_layer_step(kept(p)) + 3 * msa_shard(p) +
                      wider_inputs(kept(p));
             })
      .bound("saved_bytes", [](const CostPoint& p) {
        return kBlocks * msa_layer_saved(kept(p)) + 2 * msa_shard(p) + wider_inputs(kept(p));
      });
}

CPIZE_PARITY_MAIN(msa_module)
