#include "map/instrumented_features.hpp"

#include "error/error.hpp"
#include "map/scope.hpp"

namespace cpize::map {

InstrumentedFeatures::InstrumentedFeatures(std::map<std::string, at::Tensor> features)
    : features_(std::move(features)) {}

at::Tensor InstrumentedFeatures::operator()(const std::string& name) const {
  const auto found = features_.find(name);
  if (found == features_.end()) {
    std::string known;
    for (const auto& [other, _] : features_) known += (known.empty() ? "" : ", ") + other;
    throw ContractError("scope '" + Scope::current_path() + "' asks for the feature '" + name + "'; there are " +
                        known);
  }
  readers_[name].insert(Scope::current_path());
  return found->second;
}

}  // namespace cpize::map
