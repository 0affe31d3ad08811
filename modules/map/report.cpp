#include "map/report.hpp"

namespace cpize::map {
namespace {

constexpr const char* gap = "TODO(learn_context)";

std::string shape_text(const AxisShape& shape) {
  std::string text = "[";
  for (const auto& part : shape) text += (text.size() > 1 ? ", " : "") + part;
  return text + "]";
}

std::string list_text(const std::set<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + ("`" + (name.empty() ? "(top)" : name) + "`");
  return text.empty() ? "nobody" : text;
}

}  // namespace

std::string report(const std::string& model_name, const ModelMap& map,
                   const std::map<std::string, FeatureLayout>& layouts) {
  std::string text = "# Current code structure: " + model_name +
                     "\n\nMeasured by running the serial model, not read from its source.\n\n";
  text += "## 1. Axes\n\n| axis | base run | grown run |\n|---|---|---|\n";
  for (const auto& [name, axis] : map.axes)
    text += "| " + name + " | " + std::to_string(axis.base) + " | " + std::to_string(axis.grown) + " |\n";

  text +=
      "\n## 2. Scopes in the order of the run\n\n| scope | operations | largest tensor | features read "
      "|\n|---|---|---|---|\n";
  for (const auto& scope : map.scopes)
    text += "| `" + (scope.path.empty() ? "(top)" : scope.path) + "` | " + std::to_string(scope.operations) + " | " +
            shape_text(scope.largest_tensor) + " | " + (scope.features.empty() ? "" : list_text(scope.features)) +
            " |\n";

  text += "\n## 3. Feature inventory\n\n| feature | shape | dtype | read by |\n|---|---|---|---|\n";
  for (const auto& [name, entry] : map.features)
    text += "| `" + name + "` | " + shape_text(entry.shape) + " | " + entry.dtype + " | " + list_text(entry.readers) +
            " |\n";

  text += "\n## 4. Module map\n\n| parameter | shape | used in |\n|---|---|---|\n";
  for (const auto& [name, entry] : map.parameters)
    text += "| `" + name + "` | " + shape_text(entry.shape) + " | " + list_text(entry.users) + " |\n";

  text +=
      "\n## 4.5 From features to consumers\n\n| feature | layout | index space | mask | consumers "
      "|\n|---|---|---|---|---|\n";
  for (const auto& [name, entry] : map.features) {
    if (entry.readers.empty()) continue;
    const auto known = layouts.find(name);
    const FeatureLayout layout = known == layouts.end() ? FeatureLayout{gap, gap, gap} : known->second;
    text += "| `" + name + "` | " + layout.layout + " | " + layout.index_space + " | " +
            (layout.mask.empty() ? "is one" : "`" + layout.mask + "`") + " | " + list_text(entry.readers) + " |\n";
  }
  return text;
}

}  // namespace cpize::map
