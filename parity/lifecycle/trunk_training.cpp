#include "parity/lifecycle/trunk_training.hpp"

#include <ATen/ATen.h>

#include "error/error.hpp"
#include "features/contact_features.hpp"
#include "features/distribute.hpp"
#include "features/padding.hpp"
#include "features/read_structure.hpp"
#include "lifecycle/draw_parameters.hpp"
#include "lifecycle/target_loss.hpp"
#include "trunk/padding.hpp"

namespace cpize::parity {
namespace {

constexpr std::int64_t kTokenS = 8, kTokenZ = 8, kRows = 4;
constexpr double kDropout = 0.2;

/// The same small widths for both models.
template <class Options>
Options small_options() {
  Options o;
  o.token_s = kTokenS;
  o.rel_pos.token_z = kTokenZ;
  o.msa.layer.msa_s = kTokenZ;
  o.msa.layer.pairwise_head_width = o.pairformer.pairwise_head_width = 4;
  o.msa.layer.pairwise_num_heads = o.pairformer.pairwise_num_heads = 2;
  o.msa.msa_blocks = o.pairformer_blocks = 1;
  o.pairformer.num_heads = 2;
  o.msa.layer.msa_dropout = o.msa.layer.z_dropout = o.pairformer.dropout = kDropout;
  o.distogram_bins = 6;
  o.bfactor_bins = 4;
  return o;
}

/// A contiguous crop, as training takes them.
features::Features last_tokens(features::Features sample, std::int64_t count) {
  for (auto& [name, x] : sample) {
    const auto& spec = features::feature_spec(name);
    for (std::size_t d = 0; d < spec.rank(); ++d)
      if (spec.dimensions[d].axis == features::FeatureAxis::tokens)
        x = x.slice(static_cast<std::int64_t>(d), x.size(static_cast<std::int64_t>(d)) - count);
  }
  return sample;
}

/// An alignment of the sample with shifts of itself, with deletions, pairing and gaps in the mask: what matters here is
/// that every channel of the MSA embedding is used.
features::Features with_rows(features::Features sample) {
  const at::Tensor query = sample.at("res_type").argmax(-1);
  std::vector<at::Tensor> rows;
  for (std::int64_t r = 0; r < kRows; ++r) rows.push_back(query.roll(r));
  sample["msa"] = at::stack(rows);
  const auto drawn = [&](const char* name) {
    return random::uniform(random::Stream(trunk_seed, name), {kRows, query.size(0)});
  };
  sample["has_deletion"] = (drawn("has_deletion") < 0.3).to(at::kFloat);
  sample["deletion_value"] = sample["has_deletion"] * drawn("deletion_value");
  sample["msa_paired"] = (drawn("msa_paired") < 0.5).to(at::kFloat);
  sample["msa_mask"] = (drawn("msa_mask") < 0.9).to(at::kFloat);
  return sample;
}

features::Features trp_cage() {
  features::Structure structure = features::read_structure(CPIZE_DATA_DIR "/1l2y.cif");
  features::close_chain(structure, structure.chains.front().id);
  return with_rows(features::token_features(structure, features::tokenise(structure)));
}

features::Features polymerase() {
  const auto structure = features::read_structure(CPIZE_DATA_DIR "/5ugo.cif");
  features::Features sample = last_tokens(features::token_features(structure, features::tokenise(structure)), 24);
  // A contact asked for between the first two tokens of the crop; all other pairs are unselected.
  at::Tensor classes = at::zeros_like(sample.at("contact_conditioning"));
  classes.select(2, static_cast<int>(features::ContactClass::unselected)).fill_(1);
  at::Tensor threshold = sample.at("contact_threshold").clone();
  for (const auto& [i, j] : {std::pair{0, 1}, {1, 0}}) {
    classes[i][j].zero_();
    classes[i][j][static_cast<int>(features::ContactClass::contact)] = 1;
    threshold[i][j] = 8;
  }
  sample["contact_conditioning"] = classes;
  sample["contact_threshold"] = threshold;
  return with_rows(sample);
}

trunk::TrunkFeatures sharded_features(const features::ShardedFeatures& shards) {
  const auto feature = [&]<class L>(std::type_identity<L>, const char* name) {
    const auto x = features::feature_as<L>(shards, name);
    return x.local().is_floating_point() ? x.with(x.local().to(at::kDouble)) : x;
  };
  const auto token = [&](const char* name) { return feature(std::type_identity<Single>{}, name); };
  const auto pair = [&](const char* name) { return feature(std::type_identity<Pair>{}, name); };
  const auto row = [&](const char* name) { return feature(std::type_identity<Msa>{}, name); };
  return {{{token("res_type"), token("profile"), token("deletion_mean")},
           token("method_feature"),
           token("modified"),
           token("cyclic_period"),
           token("mol_type")},
          {token("asym_id"), token("residue_index"), token("entity_id"), token("token_index"), token("sym_id"),
           token("cyclic_period")},
          pair("token_bonds"),
          token("token_pad_mask"),
          {pair("type_bonds"), trunk::ContactFeatures{pair("contact_conditioning"), pair("contact_threshold")}},
          {row("msa"), row("has_deletion"), row("deletion_value"), row("msa_paired"), row("msa_mask")}};
}

}  // namespace

features::Features trunk_batch() {
  std::vector<features::Features> samples{trp_cage(), polymerase()};
  if (samples[1].at("token_bonds").sum().item<double>() == 0)
    throw ContractError("stop and go: the crop has no bond, so the bond weight would not be trained");
  return features::collate(samples);
}

serial::TrunkOptions serial_trunk_options() { return small_options<serial::TrunkOptions>(); }

void draw_trunk(torch::nn::Module& trunk) {
  trunk.to(at::kDouble);
  lifecycle::draw_parameters(trunk, trunk_seed);
}

lifecycle::TrainerOptions training_options() {
  lifecycle::TrainerOptions options;
  options.seed = trunk_seed;
  options.learning_rate = {1e-4, 2e-3, /*warmup_steps=*/4, /*decay_after=*/4, /*decay_every=*/1, /*decay_factor=*/0.5};
  options.clip_norm = 0.1;
  options.ema = lifecycle::EmaOptions{.decay = 0.9};
  options.check_replicas_every = 1;
  return options;
}

random::Stream dropout_stream(std::uint64_t seed, std::int64_t step) {
  return random::Stream(seed, "dropout", static_cast<std::uint64_t>(step));
}

random::Stream target_stream(const std::string& output, std::uint64_t seed, std::int64_t step) {
  return random::Stream(seed, "target." + output, static_cast<std::uint64_t>(step));
}

lifecycle::TrainingModel trunk_model(const features::Features& batch, const MeshPtr& mesh) {
  trunk::Trunk model(small_options<trunk::TrunkOptions>());
  draw_trunk(*model);
  model->to(mesh->control_device());
  features::Features on_device = batch;
  for (auto& [name, x] : on_device) x = x.to(mesh->control_device());
  const trunk::TrunkFeatures features = sharded_features(features::distribute(on_device, mesh));
  const Sharded<Single>& tokens = features.token_pad_mask;
  const Sharded<Pair> pairs = trunk::pair_mask(tokens);
  const std::int64_t token_count = lifecycle::valid_positions(tokens), pair_count = lifecycle::valid_positions(pairs);
  return {model.ptr(), [=](const lifecycle::StepContext& context) mutable {
            const auto target = [&](const char* output) { return target_stream(output, context.seed, context.step); };
            const auto out = model(
                features, trunk::TrunkCall{.recycling_steps = 1,
                                           .dropout = trunk::Dropout(dropout_stream(context.seed, context.step))});
            return lifecycle::target_loss_share(out.s, tokens, token_count, target("s")) +
                   lifecycle::target_loss_share(out.z, pairs, pair_count, target("z")) +
                   lifecycle::target_loss_share(out.pdistogram, pairs, pair_count, target("pdistogram")) +
                   lifecycle::target_loss_share(out.bfactor, tokens, token_count, target("bfactor"));
          }};
}

TrainingCase trunk_training(const features::Features& batch) {
  const serial::Trunk published(serial_trunk_options());  // the names that must be there
  std::vector<std::string> names;
  for (const auto& item : published->named_parameters())
    if (item.value().requires_grad()) names.push_back(item.key());
  return TrainingCase("trunk")
      .model([batch](const MeshPtr& mesh) { return trunk_model(batch, mesh); })
      .options(training_options())
      .parameters(names);
}

}  // namespace cpize::parity
