#include "parity/phases/map_case.hpp"

#include "error/error.hpp"
#include "parity/harness/artifact.hpp"
#include "parity/harness/environment.hpp"

namespace cpize::parity {

MapCase& MapCase::axis(const std::string& name, std::int64_t base, std::int64_t grown) {
  axes_[name] = {base, grown};
  return *this;
}

MapCase& MapCase::feature(const std::string& name, map::FeatureLayout layout) {
  features_[name] = std::move(layout);
  return *this;
}

MapCase& MapCase::scopes(std::vector<std::string> paths) {
  scopes_ = std::move(paths);
  return *this;
}

Measurement measure_map(const MapCase& c, const Request& request) {
  if (c.expected_scopes().empty()) throw ContractError("map of " + c.model() + ": scopes() names no scope");
  const map::ModelMap model = map::map_model(c.factory(), c.axes());
  const std::string text = map::report(c.model(), model, c.features());
  if (reports_here()) write_artifact(request, text);

  const auto listed = [&](const std::string& name) { return text.find("`" + name + "`") != std::string::npos; };
  std::string features, unread, parameters, scopes;
  for (const auto& [name, entry] : model.features) {
    if (!listed(name) || !c.features().contains(name)) features += " " + name;
    if (entry.readers.empty()) unread += (unread.empty() ? "" : ", ") + name;
  }
  for (const auto& [name, entry] : model.parameters)
    if (entry.users.empty() || !listed(name)) parameters += " " + name;
  std::set<std::string> ran;
  for (const auto& scope : model.scopes) ran.insert(scope.path);
  for (const auto& path : c.expected_scopes())
    if (!ran.contains(path) || !listed(path)) scopes += " " + path;

  Measurement m("map");
  describe_environment(m);
  m.detail("features that this model does not read", unread);
  for (const auto& name : request.cells) {
    Cell& cell = m.cell(name);
    cell.fact("every_feature_listed", fact_unless(features.empty() ? "" : "without a layout:" + features));
    cell.fact("every_parameter_listed", fact_unless(parameters.empty() ? "" : "no scope uses:" + parameters));
    cell.fact("every_scope_listed", fact_unless(scopes.empty() ? "" : "never ran:" + scopes));
    cell.counter("scopes", static_cast<double>(model.scopes.size()));
    cell.counter("features", static_cast<double>(model.features.size()));
    cell.counter("parameters", static_cast<double>(model.parameters.size()));
  }
  return m;
}

}  // namespace cpize::parity
