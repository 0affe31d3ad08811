#include "features/feature_spec.hpp"

#include <algorithm>
#include <vector>

#include "error/error.hpp"
#include "features/text.hpp"

namespace cpize::features {

namespace {

constexpr bool sorted_by_name() {
  for (size_t i = 1; i < kFeatureSpecs.size(); ++i) {
    if (!(kFeatureSpecs[i - 1].name < kFeatureSpecs[i].name)) return false;
  }
  return true;
}
static_assert(sorted_by_name(), "kFeatureSpecs is searched by name and walked in name order");

constexpr bool masks_are_features() {
  for (const auto& spec : kFeatureSpecs) {
    bool found = spec.mask.empty();
    for (const auto& other : kFeatureSpecs) found = found || other.name == spec.mask;
    if (!found) return false;
  }
  return true;
}
static_assert(masks_are_features(), "a mask named in kFeatureSpecs is no feature");

}  // namespace

const FeatureSpec* find_feature_spec(std::string_view name) {
  const auto found = std::lower_bound(kFeatureSpecs.begin(), kFeatureSpecs.end(), name,
                                      [](const FeatureSpec& spec, std::string_view key) { return spec.name < key; });
  return found != kFeatureSpecs.end() && found->name == name ? &*found : nullptr;
}

const FeatureSpec& feature_spec(std::string_view name) {
  if (const FeatureSpec* spec = find_feature_spec(name)) return *spec;
  std::vector<std::string> names;
  for (const auto& spec : kFeatureSpecs) names.emplace_back(spec.name);
  throw ContractError("unknown feature '" + std::string(name) + "'" + did_you_mean(std::string(name), names));
}

std::string_view name_of(FeatureAxis axis) {
  switch (axis) {
    case FeatureAxis::tokens:
      return "tokens";
    case FeatureAxis::atoms:
      return "atoms";
    case FeatureAxis::msa_rows:
      return "msa_rows";
    case FeatureAxis::fixed:
      return "fixed";
    case FeatureAxis::none:
      break;
  }
  return "none";
}

std::string_view name_of(FeatureType type) { return type == FeatureType::float32 ? "float32" : "int64"; }

std::string_view name_of(IndexSpace space) {
  switch (space) {
    case IndexSpace::tokens:
      return "token numbers";
    case IndexSpace::residue_positions:
      return "residue positions";
    case IndexSpace::chains:
      return "chains";
    case IndexSpace::entities:
      return "entities";
    case IndexSpace::symmetric_copies:
      return "symmetric copies";
    case IndexSpace::molecule_types:
      return "molecule types";
    case IndexSpace::residue_types:
      return "residue types";
    case IndexSpace::bond_types:
      return "bond types";
    case IndexSpace::contact_classes:
      return "contact classes";
    case IndexSpace::methods:
      return "methods";
    case IndexSpace::none:
      break;
  }
  return "none";
}

std::string shape_text(const FeatureSpec& spec) {
  std::vector<std::string> sizes;
  for (size_t i = 0; i < spec.rank(); ++i) {
    const Dimension& dimension = spec.dimensions[i];
    switch (dimension.axis) {
      case FeatureAxis::tokens:
        sizes.emplace_back("N");
        break;
      case FeatureAxis::atoms:
        sizes.emplace_back("A");
        break;
      case FeatureAxis::msa_rows:
        sizes.emplace_back("S");
        break;
      default:
        sizes.push_back(std::to_string(dimension.size));
    }
  }
  return "[" + join(sizes) + "]";
}

std::string feature_spec_table() {
  std::string table = "| feature | shape | dtype | layout | index space | mask | padding | needed | meaning |\n";
  table += "|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& spec : kFeatureSpecs) {
    const std::string padding = std::to_string(static_cast<int>(spec.padding));
    const std::vector<std::string> cells = {std::string(spec.name),
                                            "`" + shape_text(spec) + "`",
                                            std::string(name_of(spec.type)),
                                            std::string(spec.layout),
                                            std::string(name_of(spec.index_space)),
                                            spec.mask.empty() ? "itself" : std::string(spec.mask),
                                            padding,
                                            spec.optional ? "no" : "yes",
                                            std::string(spec.meaning)};
    table += "| " + join(cells, " | ") + " |\n";
  }
  return table;
}

}  // namespace cpize::features
