// Phase 2: one feature of the spec table on a mesh. Real structures with several chains, ligands and padding are
// distributed and assembled again.   cpize-feature-parity <feature>
#include <ATen/ATen.h>

#include "error/error.hpp"
#include "features/distribute.hpp"
#include "features/padding.hpp"
#include "features/read_structure.hpp"
#include "parity/harness/environment.hpp"
#include "parity/harness/feature_case.hpp"
#include "parity/harness/ranks.hpp"

namespace cpize::parity {
namespace {

features::Features sample(const std::string& file) {
  const auto structure = features::read_structure(std::string(CPIZE_PARITY_DATA "/") + file);
  return features::token_features(structure, features::tokenise(structure));
}

/// Trp-cage, DNA polymerase with DNA and ligands, B-DNA, in turn; the shorter ones are padded.
Tensors full_batch(std::int64_t batch) {
  std::vector<features::Features> samples;
  for (std::int64_t b = 0; b < batch; ++b)
    samples.push_back(sample(b % 3 == 0 ? "1l2y.cif" : b % 3 == 1 ? "5ugo.cif" : "1bna.cif"));
  Tensors full;
  for (const auto& [name, tensor] : features::collate(samples)) full.set(name, tensor);
  return full;
}

ShardedTensors distribute(const Tensors& full, const MeshPtr& mesh) {
  features::Features batch;
  for (const auto& [name, tensor] : full) batch[name] = tensor;
  ShardedTensors sharded;
  for (auto& [name, shard] : features::distribute(batch, mesh)) sharded.set(name, shard);
  return sharded;
}

std::int64_t index_limit(features::IndexSpace space) {
  switch (space) {
    case features::IndexSpace::molecule_types:
      return 4;
    case features::IndexSpace::residue_types:  // a one-hot row of 0 and 1
      return 2;
    default:
      return 0;
  }
}

FeatureRow row_of(const features::FeatureSpec& spec) {
  FeatureRow row{.name = std::string(spec.name), .mask = std::string(spec.mask), .padding = spec.padding};
  for (std::size_t d = 0; d < spec.rank(); ++d)
    if (spec.dimensions[d].axis == features::FeatureAxis::tokens) row.mask_dims.push_back(static_cast<int>(d) + 1);
  row.own_index = spec.index_space == features::IndexSpace::tokens;
  row.index_limit = index_limit(spec.index_space);
  return row;
}

Measurement measure(const Request& request) {
  if (request.arguments.size() != 1)
    throw ConfigError("usage: " + request.program + " <feature> [--mesh 1x2x3] [--cell 1x2x2/mpi/fp64/cpu]");
  const std::string name = request.arguments[0];
  FeatureCase feature("feature." + name);
  feature.full(full_batch).distribute(distribute).feature(row_of(features::feature_spec(name)));
  return measure_features(feature, request);
}

}  // namespace
}  // namespace cpize::parity

int main(int argc, char** argv) { return cpize::parity::run_ranked_program(argc, argv, cpize::parity::measure); }
