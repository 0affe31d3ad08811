#include "slice_training.hpp"

#include <ATen/ATen.h>

#include "error/error.hpp"
#include "features/distribute.hpp"
#include "features/padding.hpp"
#include "features/read_structure.hpp"
#include "lifecycle/draw_parameters.hpp"
#include "lifecycle/pair_target_loss.hpp"

namespace cpize::parity {
namespace {

trunk::PairSliceFeatures slice_features(const features::ShardedFeatures& shards) {
  const auto single = [&](const char* name) {
    const auto x = features::feature_as<Single>(shards, name);
    return x.local().is_floating_point() ? x.with(x.local().to(at::kDouble)) : x;
  };
  const auto bonds = features::feature_as<Pair>(shards, "token_bonds");
  return {{single("res_type"), single("profile"), single("deletion_mean")},
          {single("asym_id"), single("residue_index"), single("entity_id"), single("token_index"), single("sym_id"),
           single("cyclic_period")},
          bonds.with(bonds.local().to(at::kDouble)),
          single("token_pad_mask")};
}

features::Features structure_features(const std::string& file) {
  const auto structure = features::read_structure(std::string(CPIZE_DATA_DIR "/") + file);
  return features::token_features(structure, features::tokenise(structure));
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

}  // namespace

features::Features slice_batch() {
  std::vector<features::Features> samples{
      structure_features("1l2y.cif"),
      last_tokens(structure_features("5ugo.cif"), 24),
  };
  if (samples[1].at("token_bonds").sum().item<double>() == 0)
    throw ContractError("stop and go: the crop has no bond, so the bond weight would not be trained");
  return features::collate(samples);
}

void draw_slice(torch::nn::Module& slice) {
  slice.to(at::kDouble);
  lifecycle::draw_parameters(slice, slice_seed);
}

lifecycle::TrainerOptions slice_options() {
  lifecycle::TrainerOptions options;
  options.seed = slice_seed;
  options.learning_rate = {1e-4, 2e-3, /*warmup_steps=*/4, /*decay_after=*/4, /*decay_every=*/1, /*decay_factor=*/0.5};
  options.clip_norm = 0.1;
  options.ema = lifecycle::EmaOptions{.decay = 0.9};
  options.check_replicas_every = 1;
  return options;
}

lifecycle::TrainingModel slice_model(const features::Features& batch, const MeshPtr& mesh) {
  trunk::PairSliceOptions options;
  options.token_s = slice_token_s;
  options.rel_pos.token_z = slice_token_z;
  trunk::PairSlice slice(options);
  draw_slice(*slice);
  const trunk::PairSliceFeatures features = slice_features(features::distribute(batch, mesh));
  const Sharded<Pair> mask = trunk::pair_mask(features.token_pad_mask);
  const std::int64_t pairs = lifecycle::valid_pairs(mask);
  return {slice.ptr(), [=](const lifecycle::StepContext& context) mutable {
            return lifecycle::pair_target_loss_share(slice(features), mask, pairs,
                                                     lifecycle::pair_target(context.seed, context.step));
          }};
}

TrainingCase slice_case(const features::Features& batch) {
  const serial::PairSlice published;  // the names that must be there; their sizes do not matter
  std::vector<std::string> names;
  for (const auto& item : published->named_parameters()) names.push_back(item.key());
  return TrainingCase("pair slice")
      .model([batch](const MeshPtr& mesh) { return slice_model(batch, mesh); })
      .options(slice_options())
      .parameters(names);
}

}  // namespace cpize::parity
