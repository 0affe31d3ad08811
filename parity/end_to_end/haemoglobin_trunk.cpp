#include "parity/end_to_end/haemoglobin_trunk.hpp"

#include <ATen/ATen.h>

#include "features/feature_spec.hpp"
#include "parity/end_to_end/haemoglobin_features.hpp"

namespace cpize::parity {
namespace {

constexpr int kDepth = 128, kBlocks = 2;

const features::Features& haemoglobin() {
  static const features::Features read = [] {
    features::Features batch = haemoglobin_features(kDepth);
    for (auto& [name, x] : batch) x = x.squeeze(0);
    return batch;
  }();
  return read;
}

/// A feature cut to N tokens and S rows (repeated where more are asked for), floats in fp64.
ValueSource real_values(const std::string& name) {
  return [=](const Sizes& sizes, at::Generator&) {
    const features::FeatureSpec& spec = features::feature_spec(name);
    at::Tensor value = haemoglobin().at(name);
    if (value.is_floating_point()) value = value.to(at::kDouble);
    std::vector<at::Tensor> samples;
    for (std::int64_t b = 0; b < sizes["B"]; ++b) {
      at::Tensor sample = value;
      for (std::size_t d = 0; d < spec.rank(); ++d) {
        const auto axis = spec.dimensions[d].axis;
        if (axis == features::FeatureAxis::fixed) continue;
        const std::int64_t size = sizes[axis == features::FeatureAxis::msa_rows ? "S" : "N"];
        const auto dim = static_cast<std::int64_t>(d);
        sample = sample.index_select(dim, at::arange(size).add(b).remainder(value.size(dim)));
      }
      samples.push_back(sample);
    }
    return at::stack(samples);
  };
}

std::vector<std::string> dims_of(const features::FeatureSpec& spec) {
  std::vector<std::string> dims{"B"};
  for (std::size_t d = 0; d < spec.rank(); ++d) {
    const auto& [axis, size] = spec.dimensions[d];
    dims.push_back(axis == features::FeatureAxis::fixed      ? std::to_string(size)
                   : axis == features::FeatureAxis::msa_rows ? "S"
                                                             : "N");
  }
  return dims;
}

/// Declares a feature in the layout of the spec table.
void add_feature(BlockCase& block, const std::string& name) {
  const features::FeatureSpec& spec = features::feature_spec(name);
  if (spec.layout == "Pair")
    block.feature<Pair>(name, dims_of(spec));
  else if (spec.layout == "Msa")
    block.feature<Msa>(name, dims_of(spec));
  else
    block.feature<Single>(name, dims_of(spec));
  block.values(real_values(name)).masked_by(spec.layout == "Msa" ? "row_mask" : std::string(spec.mask));
}

}  // namespace

BlockCase haemoglobin_trunk(const SmallTrunk& trunk) {
  BlockCase block("haemoglobin");
  block.mask<Single>("token_pad_mask", {"B", "N"});
  block.mask<Msa>("msa_mask", {"B", "S", "N"}).mask<Msa>("row_mask", {"B", "S"});
  for (const char* name :
       {"asym_id",           "residue_index", "entity_id",    "token_index",    "sym_id",
        "cyclic_period",     "res_type",      "profile",      "deletion_mean",  "method_feature",
        "modified",          "mol_type",      "token_bonds",  "type_bonds",     "contact_conditioning",
        "contact_threshold", "msa",           "has_deletion", "deletion_value", "msa_paired"})
    add_feature(block, name);
  std::vector<std::string> zero = without_gradient(kBlocks);
  zero.insert(zero.end(), {"token_bonds.weight", "input_embedder.cyclic_conditioning_init.weight",
                           "contact_conditioning.encoding_unselected"});
  return as_trunk(std::move(block), kBlocks, trunk).size("C", 32).size("token_s", 64).size("S", 32).zero_gradient(zero);
}

Run haemoglobin_run(const BlockCase& block, const MeshShape& mesh, std::int64_t padding, std::int64_t tokens) {
  if (tokens == 0) tokens = haemoglobin().at("token_index").size(0);
  Run run{"haemoglobin", block.sizes(), MaskKind::prefix, tokens};
  run.sizes.set("B", mesh.extent(Axis::dp));
  run.sizes.set("N", tokens + padding);
  return run;
}

}  // namespace cpize::parity
