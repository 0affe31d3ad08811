#include "features/distribute.hpp"

namespace cpize::features {

namespace {

AnySharded cut(const FeatureSpec& spec, const at::Tensor& full, const MeshPtr& mesh) {
  if (spec.layout == "Single") return shard<Single>(full, mesh);
  if (spec.layout == "Pair") return shard<Pair>(full, mesh);
  if (spec.layout == "Msa") return shard<Msa>(full, mesh);
  throw ContractError("feature '" + std::string(spec.name) + "' names layout '" + std::string(spec.layout) +
                      "', which distribute does not know (Single, Pair, Msa)");
}

}  // namespace

ShardedFeatures distribute(const Features& batch, const MeshPtr& mesh) {
  check_features(batch, /*batched=*/true);
  ShardedFeatures shards;
  for (const auto& [name, tensor] : batch) shards.emplace(name, cut(feature_spec(name), tensor, mesh));
  return shards;
}

}  // namespace cpize::features
