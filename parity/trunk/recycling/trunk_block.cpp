#include "parity/trunk/recycling/trunk_block.hpp"

#include "parity/trunk/input/conditioning_features.hpp"
#include "parity/trunk/templates/random_templates.hpp"
#include "random/draw.hpp"

namespace cpize::parity {
namespace {

constexpr std::uint64_t kSeed = 20240501;

/// The same small widths for both models.
template <class Options>
Options options_of(const Sizes& sizes, const SmallTrunk& small) {
  Options o;
  o.token_s = sizes["token_s"];
  o.rel_pos.token_z = sizes["C"];
  o.msa.msa_blocks = 1;
  auto& layer = o.msa.layer;
  layer.msa_s = sizes["C"] / 2;
  layer.msa_dropout = layer.z_dropout = o.pairformer.dropout = small.dropout;
  layer.pairwise_head_width = o.pairformer.pairwise_head_width = sizes["C"] / 4;
  layer.pairwise_num_heads = o.pairformer.pairwise_num_heads = 4;
  o.pairformer.num_heads = 4;
  o.pairformer_blocks = sizes["blocks"];
  o.distogram_bins = 16;
  o.bfactor_bins = 8;
  return o;
}

template <class Options>
Options small_templates(const Sizes& sizes, const SmallTrunk& small) {
  Options o;
  o.template_dim = 12;  // a LayerNorm of fewer channels meets rows of nearly no variance
  o.template_blocks = 1;
  o.pairformer.dropout = small.dropout;
  o.pairformer.pairwise_head_width = sizes["C"] / 4;
  o.pairformer.pairwise_num_heads = 2;
  return o;
}

BlockCase with_msa(BlockCase block) {
  const auto shape = [](const Sizes& s) { return Shape{s["B"], s["S"], s["N"]}; };
  const auto types = [=](const Sizes& s, at::Generator& g) {
    return at::randint(0, 33, shape(s), g, at::TensorOptions().dtype(at::kLong));
  };
  const auto flags = [=](const Sizes& s, at::Generator& g) { return (uniform(shape(s), g) > 0.6).to(at::kDouble); };
  const auto values = [=](const Sizes& s, at::Generator& g) { return uniform(shape(s), g); };
  block.mask<Msa>("msa_mask", {"B", "S", "N"}).mask<Msa>("row_mask", {"B", "S"});
  block.feature<Msa>("msa", {"B", "S", "N"}).values(types).masked_by("row_mask");
  block.feature<Msa>("has_deletion", {"B", "S", "N"}).values(flags).masked_by("row_mask");
  block.feature<Msa>("deletion_value", {"B", "S", "N"}).values(values).masked_by("row_mask");
  block.feature<Msa>("msa_paired", {"B", "S", "N"}).values(flags).masked_by("row_mask");
  return block;
}

/// The sums that an element passes through, one after the other: input embedding and pair initialisation; in each pass
/// a template's pair track, the MSA layer (embedding, averages, products) and `blocks` layers of the pairformer; the
/// heads.
std::vector<std::string> trunk_sums(std::int64_t blocks, const SmallTrunk& small) {
  const std::vector<std::string> multiplication{"C", "C", "N", "C", "C"}, attention{"C", "C", "C", "N", "N", "C"},
      transition{"C", "C", "C", "C", "C", "C"},
      single{"token_s", "token_s", "C", "token_s", "N", "N", "token_s", "token_s", "token_s", "token_s", "token_s"},
      alignment{"36", "token_s", "C", "C", "N", "N", "256", "C", "C", "C", "S", "1024"};
  std::vector<std::string> sums{"67", "token_s", "token_s", "100", "7", "C"};
  const auto add = [&](std::initializer_list<std::vector<std::string>> parts) {
    for (const auto& part : parts) sums.insert(sums.end(), part.begin(), part.end());
  };
  for (std::int64_t pass = 0; pass <= small.recycling_steps; ++pass) {
    if (small.templates)
      add({{"C", "109", "T", "12"}, multiplication, multiplication, attention, attention, transition});
    add({{"C", "C", "token_s"}, alignment});
    add({multiplication, multiplication, attention, attention, transition});
    for (std::int64_t i = 0; i < blocks; ++i)
      add({multiplication, multiplication, attention, attention, transition, single});
  }
  return sums;
}

}  // namespace

serial::TrunkOptions serial_options(const Sizes& sizes, const SmallTrunk& small) {
  auto options = options_of<serial::TrunkOptions>(sizes, small);
  if (small.templates) options.templates = small_templates<serial::TemplateModuleOptions>(sizes, small);
  return options;
}

trunk::TrunkOptions port_options(const Sizes& sizes, const SmallTrunk& small) {
  auto options = options_of<trunk::TrunkOptions>(sizes, small);
  if (small.templates) options.templates = small_templates<trunk::TemplateModuleOptions>(sizes, small);
  options.pairformer.checkpoint = options.msa.checkpoint = small.checkpoint;
  return options;
}

trunk::TrunkFeatures trunk_features(const ShardedTensors& in) {
  const auto token = [&](const char* name) { return in.get<Single>(name); };
  const auto pair = [&](const char* name) { return in.get<Pair>(name); };
  const auto row = [&](const char* name) { return in.get<Msa>(name); };
  const auto msa_mask = row("msa_mask").with(row("msa_mask").local() * row("row_mask").local().unsqueeze(2));
  return {{input_of(in), token("method_feature"), token("modified"), token("cyclic_period"), token("mol_type")},
          position_of(in),
          pair("token_bonds"),
          token("token_pad_mask"),
          {pair("type_bonds"), trunk::ContactFeatures{pair("contact_conditioning"), pair("contact_threshold")}},
          {row("msa"), row("has_deletion"), row("deletion_value"), row("msa_paired"), msa_mask},
          in.has("template_mask") ? std::optional(port_templates(in)) : std::nullopt};
}

std::vector<std::string> without_gradient(std::int64_t blocks) {
  std::vector<std::string> names = frozen_projection("contact_conditioning.fourier_embedding.");
  names.push_back("msa_module.layers.0.pair_weighted_averaging.norm_z.bias");
  for (std::int64_t i = 0; i < blocks; ++i)
    names.push_back("pairformer_module.layers." + std::to_string(i) + ".attention.proj_z.0.bias");
  return names;
}

BlockCase as_trunk(BlockCase block, std::int64_t blocks, const SmallTrunk& small) {
  const random::Stream stream = random::Stream(kSeed, "dropout", 0);
  return block.output("s", {"B", "N", "token_s"})
      .masked_by("token_pad_mask")
      .output("z", {"B", "N", "N", "C"})
      .masked_by("token_pad_mask")
      .output("pdistogram", {"B", "N", "N", "1", "16"})
      .masked_by("token_pad_mask")
      .output("bfactor", {"B", "N", "8"})
      .masked_by("token_pad_mask")
      .size("blocks", blocks)
      .zero_gradient(without_gradient(blocks))
      .contraction(trunk_sums(blocks, small))
      .padding_is_nan()
      .perturbation(0.25)
      .serial([small](const Sizes& s) { return serial::Trunk(serial_options(s, small)); },
              [small, stream](auto& model, const Tensors& in) {
                serial::TrunkCall call{.recycling_steps = small.recycling_steps};
                if (small.dropout > 0) call.dropout = serial::Dropout(random::uniform_source(stream));
                const auto source = [&in](const std::string& name) {
                  return name == "msa_mask" ? in[name] * in["row_mask"].unsqueeze(2) : as_templates(name, in[name]);
                };
                const auto out = model(serial::TrunkFeatures::from(source, model->options), call);
                return Tensors{{"s", out.s}, {"z", out.z}, {"pdistogram", out.pdistogram}, {"bfactor", out.bfactor}};
              })
      .port(
          [small](const Sizes& s) { return trunk::Trunk(port_options(s, small)); },
          [small, stream](auto& model, const ShardedTensors& in) {
            trunk::TrunkCall call{.recycling_steps = small.recycling_steps};
            if (small.dropout > 0) call.dropout = trunk::Dropout(stream);
            const auto out = model(trunk_features(in), call);
            return ShardedTensors{{"s", out.s}, {"z", out.z}, {"pdistogram", out.pdistogram}, {"bfactor", out.bfactor}};
          });
}

BlockCase random_trunk(const std::string& name, const SmallTrunk& small) {
  BlockCase block = with_bonds(with_position(with_input(BlockCase(name).mask<Single>("token_pad_mask", {"B", "N"}))));
  const std::vector<std::pair<const char*, std::int64_t>> classes{
      {"method_feature", 12}, {"modified", 2}, {"mol_type", 4}};
  for (const auto& [feature, bound] : classes)
    block.feature<Single>(feature, {"B", "N"}).values(token_ids(bound)).masked_by("token_pad_mask");
  block.feature<Pair>("type_bonds", {"B", "N", "N"}).values(pair_classes(7)).masked_by("token_pad_mask");
  const auto contacts = [](const Sizes& s, at::Generator& g) {
    return at::one_hot(pair_classes(5)(s, g), 5).to(at::kDouble);
  };
  const auto threshold = [](const Sizes& s, at::Generator& g) { return uniform({s["B"], s["N"], s["N"]}, g) * 20 + 2; };
  block.feature<Pair>("contact_conditioning", {"B", "N", "N", "5"}).values(contacts).masked_by("token_pad_mask");
  block.feature<Pair>("contact_threshold", {"B", "N", "N"}).values(threshold).masked_by("token_pad_mask");
  if (small.templates) block = with_templates(std::move(block), "token_pad_mask").size("T", 2);
  return as_trunk(with_msa(std::move(block)), 1, small).size("C", 8).size("token_s", 16).size("S", 5);
}

}  // namespace cpize::parity
