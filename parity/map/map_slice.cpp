// Phase 0: maps the serial pair slice and writes docs/current_code_structure.md (the task's artifact).
#include "features/feature_spec.hpp"
#include "map/report.hpp"
#include "parity/harness/artifact.hpp"
#include "parity/harness/environment.hpp"
#include "parity/harness/request.hpp"
#include "parity/map/slice_factory.hpp"

namespace cpize::parity {
namespace {

std::map<std::string, map::FeatureLayout> known_layouts() {
  std::map<std::string, map::FeatureLayout> layouts;
  for (const auto& spec : features::kFeatureSpecs)
    layouts[std::string(spec.name)] = {std::string(spec.layout), std::string(spec.mask),
                                       std::string(features::name_of(spec.index_space))};
  return layouts;
}

Measurement measure(const Request& request) {
  // Base and grown sizes are all different, so that no size is taken for another axis.
  const map::ModelMap model =
      map::map_model(build_mapped_slice, {{"B", {2, 3}}, {"N", {7, 13}}, {"S", {11, 17}}, {"Z", {19, 29}}});
  const auto layouts = known_layouts();
  const std::string text = map::report("pair slice", model, layouts);
  write_artifact(request, text);

  std::string unlisted_features, unread, unused_parameters;
  for (const auto& [name, entry] : model.features) {
    if (text.find("`" + name + "`") == std::string::npos || !layouts.contains(name)) unlisted_features += " " + name;
    if (entry.readers.empty()) unread += (unread.empty() ? "" : ", ") + name;
  }
  for (const auto& [name, entry] : model.parameters)
    if (entry.users.empty() || text.find("`" + name + "`") == std::string::npos) unused_parameters += " " + name;
  std::string missing_scopes;
  std::set<std::string> scopes;
  for (const auto& scope : model.scopes) scopes.insert(scope.path);
  for (const char* expected : {"input_embedder", "rel_pos", "pair_init", "tri_mul_out", "tri_mul_in", "transition_z"})
    if (!scopes.contains(expected) || text.find(std::string("`") + expected + "`") == std::string::npos)
      missing_scopes += std::string(" ") + expected;

  Measurement m("map");
  describe_environment(m);
  m.detail("features that this model does not read", unread);
  for (const auto& name : request.cells) {
    Cell& cell = m.cell(name);
    cell.fact("every_feature_listed", fact_unless(unlisted_features.empty() ? "" : "not listed:" + unlisted_features));
    cell.fact("every_parameter_listed",
              fact_unless(unused_parameters.empty() ? "" : "no scope uses:" + unused_parameters));
    cell.fact("every_scope_listed", fact_unless(missing_scopes.empty() ? "" : "never ran:" + missing_scopes));
    cell.counter("scopes", static_cast<double>(model.scopes.size()));
    cell.counter("features", static_cast<double>(model.features.size()));
    cell.counter("parameters", static_cast<double>(model.parameters.size()));
  }
  return m;
}

}  // namespace
}  // namespace cpize::parity

int main(int argc, char** argv) { return cpize::parity::run_program(argc, argv, cpize::parity::measure); }
