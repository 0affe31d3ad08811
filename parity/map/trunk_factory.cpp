#include "parity/map/trunk_factory.hpp"

#include <ATen/ATen.h>

#include "features/feature_spec.hpp"
#include "map/scope.hpp"
#include "serial/trunk.hpp"

namespace cpize::parity {
namespace {

/// A tensor of the feature's shape and dtype. Small integers: valid as ids of any index space.
at::Tensor synthetic(const features::FeatureSpec& spec, const map::AxisSizes& sizes) {
  std::vector<std::int64_t> shape{sizes.at("B")};
  for (std::size_t d = 0; d < spec.rank(); ++d) {
    const auto& [axis, size] = spec.dimensions[d];
    shape.push_back(axis == features::FeatureAxis::fixed      ? size
                    : axis == features::FeatureAxis::msa_rows ? sizes.at("M")
                                                              : sizes.at("N"));
  }
  if (spec.mask.empty()) return at::ones(shape, at::kFloat);
  return spec.type == features::FeatureType::int64 ? at::zeros(shape, at::kLong) : at::full(shape, 0.5, at::kFloat);
}

}  // namespace

map::MappedModel build_mapped_trunk(const map::AxisSizes& sizes) {
  serial::TrunkOptions options;
  options.token_s = sizes.at("S");
  options.rel_pos.token_z = sizes.at("Z");
  options.pairformer.num_heads = 1;  // divides any width
  options.msa.msa_blocks = options.pairformer_blocks = 1;
  auto trunk = serial::Trunk(options);

  map::MappedModel model;
  for (const auto& spec : features::kFeatureSpecs) model.features[std::string(spec.name)] = synthetic(spec, sizes);
  for (const auto& item : trunk->named_parameters()) model.parameters.emplace_back(item.key(), item.value());

  model.run = [trunk, options](const map::InstrumentedFeatures& read) mutable {
    const serial::FeatureSource source = [&](const std::string& name) { return read(name); };
    const auto scoped = [](const char* name, const auto& step) {
      const map::Scope scope(name);
      return step();
    };
    serial::TrunkFeatures f;
    f.input = scoped("input_embedder", [&] { return serial::InputConditioningFeatures::from(source); });
    f.position = scoped("pair_init", [&] { return serial::RelativePositionFeatures::from(source); });
    f.token_bonds = scoped("pair_init", [&] { return source("token_bonds"); });
    f.conditioning = scoped("pair_init", [&] { return serial::PairConditioningFeatures::from(source); });
    f.token_pad_mask = scoped("zero_padding", [&] { return source("token_pad_mask"); });
    f.msa = scoped("msa_module", [&] { return serial::MsaFeatures::from(source); });
    serial::TrunkCall call;
    call.around = [](const char* step, const std::function<void()>& run) {
      const map::Scope scope(step);
      run();
    };
    trunk(f, call);
  };
  return model;
}

}  // namespace cpize::parity
