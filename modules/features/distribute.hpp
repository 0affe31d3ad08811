// distribute: a full feature dictionary to this rank's shards, each in the layout that the feature-spec table names.
#pragma once
#include <map>
#include <string>

#include "error/error.hpp"
#include "features/token_features.hpp"
#include "layout/sharded.hpp"

namespace cpize::features {

/// Feature name -> this rank's shard; sorted, so that every rank walks it in the same order.
using ShardedFeatures = std::map<std::string, AnySharded>;

/// Cuts this rank's shards out of a batched feature dictionary ([B] in front, B over dp) that every rank holds whole.
///
/// No communication and no padding needed: any number of tokens works, also fewer than ranks. A shard is a copy: the
/// full dictionary can be freed. Integer features keep global values (`token_index` stays the global token number on
/// every rank). Layouts: `Single` [B,N,...], `Pair` [B,N,N,...] and `Msa` [B,S,N] of modules/layout/layouts.hpp.
/// @throws ContractError as check_features does, before anything is cut.
ShardedFeatures distribute(const Features& batch, const MeshPtr& mesh);

/// One feature in the layout that a port states; a copy of nothing.
/// @throws ContractError if there is no such feature (naming the nearest), or it is laid out differently.
template <class L>
Sharded<L> feature_as(const ShardedFeatures& features, const std::string& name) {
  const auto found = features.find(name);
  if (found != features.end()) return found->second.template as<L>();
  static_cast<void>(feature_spec(name));  // an unknown name is its own error
  throw ContractError("feature '" + name + "' is not in the sharded dictionary");
}

}  // namespace cpize::features
