// FeatureCase: distributing features gives every rank its own part, and nothing else happens to them.
//
//   return FeatureCase("feature.token_index")
//       .full([](std::int64_t batch) { return Tensors{{"token_index", ...}, {"token_pad_mask", ...}}; })
//       .distribute([](const Tensors& full, const MeshPtr& mesh) -> ShardedTensors { ... })
//       .feature({.name = "token_index", .mask = "token_pad_mask", .mask_dims = {1}, .own_index = true});
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "parity/harness/named_tensors.hpp"
#include "parity/harness/request.hpp"

namespace cpize::parity {

struct FeatureRow {
  std::string name;
  std::string mask = {};            // marks the valid places, [B,N]; empty: the feature is a mask itself
  std::vector<int> mask_dims = {};  // dimensions of the batched tensor that the mask's axis runs along: {1} or {1, 2}
  double padding = 0;               // what padded places hold
  std::int64_t index_limit = 0;     // > 0: valid values are indices in [0, index_limit)
  bool own_index = false;           // a value is its own global position along mask_dims[0]
};

class FeatureCase {
 public:
  using Source = std::function<Tensors(std::int64_t batch)>;
  using Distribute = std::function<ShardedTensors(const Tensors& full, const MeshPtr& mesh)>;

  explicit FeatureCase(std::string name) : name_(std::move(name)) {}
  /// Batched full tensors, some of their places padded. The harness asks for 2 dp samples.
  FeatureCase& full(Source source);
  FeatureCase& distribute(Distribute distribute);
  FeatureCase& feature(FeatureRow row);

  const std::string& name() const { return name_; }
  const std::vector<FeatureRow>& features() const { return features_; }
  const Source& source() const { return source_; }
  const Distribute& distributor() const { return distribute_; }

 private:
  std::string name_;
  std::vector<FeatureRow> features_;
  Source source_;
  Distribute distribute_;
};

/// Profile "feature", on every cell asked for: sharding_active, local_smaller_than_global, assembled_equal,
/// masks_consistent, indices_consistent, and the sabotage swap_shards.
Measurement measure_features(const FeatureCase& features, const Request& request);

}  // namespace cpize::parity
