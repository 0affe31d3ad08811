#include "parity/map/slice_factory.hpp"

#include <ATen/ATen.h>

#include "features/feature_spec.hpp"
#include "map/scope.hpp"
#include "serial/pair_slice.hpp"

namespace cpize::parity {
namespace {

/// A tensor of the feature's shape and dtype. Small integers: valid as ids of any index space.
at::Tensor synthetic(const features::FeatureSpec& spec, std::int64_t batch, std::int64_t tokens) {
  std::vector<std::int64_t> shape{batch};
  for (std::size_t d = 0; d < spec.rank(); ++d)
    shape.push_back(spec.dimensions[d].axis == features::FeatureAxis::fixed ? spec.dimensions[d].size : tokens);
  if (spec.name == "token_pad_mask") return at::ones(shape, at::kFloat);
  return spec.type == features::FeatureType::int64 ? at::zeros(shape, at::kLong) : at::full(shape, 0.5, at::kFloat);
}

}  // namespace

map::MappedModel build_mapped_slice(const map::AxisSizes& sizes) {
  serial::PairSliceOptions options;
  options.token_s = sizes.at("S");
  options.rel_pos.token_z = sizes.at("Z");
  auto slice = serial::PairSlice(options);

  map::MappedModel model;
  for (const auto& spec : features::kFeatureSpecs) {
    if (spec.layout == "Msa") continue;  // the slice has no MSA track
    model.features[std::string(spec.name)] = synthetic(spec, sizes.at("B"), sizes.at("N"));
  }
  for (const auto& item : slice->named_parameters()) model.parameters.emplace_back(item.key(), item.value());

  // The composition of serial/pair_slice.cpp, step by step.
  model.run = [slice](const map::InstrumentedFeatures& read) mutable {
    const serial::FeatureSource source = [&](const std::string& name) { return read(name); };
    auto scoped = [](const char* name, auto step) {
      map::Scope scope(name);
      return step();
    };
    const auto input = scoped("input_embedder", [&] { return serial::TokenInputFeatures::from(source); });
    const auto position = scoped("rel_pos", [&] { return serial::RelativePositionFeatures::from(source); });
    const auto bonds = scoped("pair_init", [&] { return source("token_bonds"); });
    const auto token_mask = scoped("zero_padding", [&] { return source("token_pad_mask"); });
    const auto f = scoped("zero_padding", [&] { return serial::zero_padding({input, position, bonds, token_mask}); });
    const auto mask = scoped("zero_padding", [&] { return serial::pair_mask(token_mask); });
    const auto s_inputs = scoped("input_embedder", [&] { return slice->input_embedder(f.input); });
    auto z = scoped("pair_init", [&] { return slice->pair_init(s_inputs, f.position, f.token_bonds); });
    z = z + scoped("tri_mul_out", [&] { return slice->tri_mul_out(z, mask); });
    z = z + scoped("tri_mul_in", [&] { return slice->tri_mul_in(z, mask); });
    z = z + scoped("transition_z", [&] { return slice->transition_z(z); });
  };
  return model;
}

}  // namespace cpize::parity
