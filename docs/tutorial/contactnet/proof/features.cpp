// Phase 2: the features of real maps, distributed and assembled again.   parity_features height|present
#include "parity/harness/feature_case.hpp"
#include "parity/harness/ranks.hpp"
#include "reader/map_file.hpp"

using namespace cpize;
using namespace cpize::parity;

/// Maps of different sizes, so that some places are padding.
static Tensors full_batch(std::int64_t count) {
  std::vector<reader::Map> maps;
  for (std::int64_t i = 0; i < count; ++i)
    maps.push_back(reader::read_map(std::string(CONTACTNET_DATA) + (i % 2 ? "/island.map" : "/ridge.map")));
  const auto batch = reader::collate(maps);
  return {{"height", batch.height}, {"present", batch.present}};
}

static Measurement measure(const Request& request) {
  FeatureCase features("feature");
  features.full(full_batch).distribute([](const Tensors& full, const MeshPtr& mesh) {
    return ShardedTensors{{"height", shard<Pair>(full["height"], mesh)},
                          {"present", shard<Single>(full["present"], mesh)}};
  });
  if (request.arguments.at(0) == "height")
    features.feature({.name = "height", .mask = "present", .mask_dims = {1, 2}});
  else
    features.feature({.name = "present"});
  return measure_features(features, request);
}

int main(int argc, char** argv) { return run_ranked_program(argc, argv, measure); }
