// MapCase: phase 0 of any model. Runs the serial model at several sizes, writes the map, and says what it lacks.
//
//   return MapCase("contact net", build_mapped_net)                          // a map::ModelFactory
//       .axis("B", 2, 3).axis("N", 7, 13).axis("C", 12, 19)                  // base and grown size, all different
//       .feature("height", {.layout = "Pair", .mask = "present"})
//       .scopes({"embed", "row_attention", "column_attention", "head"});     // what the factory names
#pragma once
#include "map/report.hpp"
#include "parity/harness/ranks.hpp"

namespace cpize::parity {

class MapCase {
 public:
  MapCase(std::string model, map::ModelFactory factory) : model_(std::move(model)), factory_(std::move(factory)) {}
  MapCase& axis(const std::string& name, std::int64_t base, std::int64_t grown);
  /// The layout that phase 2 gives a feature, for section 4.5 of the document.
  MapCase& feature(const std::string& name, map::FeatureLayout layout);
  /// Scopes that must have run, by path.
  MapCase& scopes(std::vector<std::string> paths);

  const std::string& model() const { return model_; }
  const map::ModelFactory& factory() const { return factory_; }
  const std::map<std::string, map::MappedAxis>& axes() const { return axes_; }
  const std::map<std::string, map::FeatureLayout>& features() const { return features_; }
  const std::vector<std::string>& expected_scopes() const { return scopes_; }

 private:
  std::string model_;
  map::ModelFactory factory_;
  std::map<std::string, map::MappedAxis> axes_;
  std::map<std::string, map::FeatureLayout> features_;
  std::vector<std::string> scopes_;
};

/// Profile "map": every_feature_listed (each has a layout), every_scope_listed, every_parameter_listed (each is used in
/// a scope). The document goes to the request's artifact.
Measurement measure_map(const MapCase& model, const Request& request);

}  // namespace cpize::parity

/// At global scope: CPIZE_MAP_MAIN(map_of_my_model)
#define CPIZE_MAP_MAIN(make)                                                                         \
  int main(int argc, char** argv) {                                                                  \
    return cpize::parity::run_ranked_program(argc, argv, [](const cpize::parity::Request& request) { \
      return cpize::parity::measure_map(make(), request);                                            \
    });                                                                                              \
  }
