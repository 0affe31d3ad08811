// report: the map as a document, docs/current_code_structure.md. Ports take the layouts of their inputs from
// section 4.5.
#pragma once
#include <string>

#include "map/mapper.hpp"

namespace cpize::map {

/// What the feature-spec table says of a feature (given as text: the map knows no feature module).
struct FeatureLayout {
  std::string layout, mask, index_space;
};

/// Markdown. A feature that a scope reads and that `layouts` does not have is a gap and is marked TODO(learn_context).
std::string report(const std::string& model_name, const ModelMap& map,
                   const std::map<std::string, FeatureLayout>& layouts);

}  // namespace cpize::map
