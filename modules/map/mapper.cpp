#include "map/mapper.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdlib>

#include "error/error.hpp"
#include "map/scope.hpp"

namespace cpize::map {
namespace {

using Sizes = std::vector<std::int64_t>;

/// One run: everything that has a shape, by a key that is the same at all sizes.
struct Run {
  std::map<std::string, Sizes> shapes;  // "feature x", "parameter x", "scope x"
  std::map<std::string, std::set<std::string>> readers;
  std::map<std::string, std::string> dtypes;
  std::vector<std::string> scope_order, parameter_order;
  std::map<std::string, ScopeFacts> facts;
};

Run run_once(const ModelFactory& factory, const AxisSizes& sizes) {
  MappedModel model = factory(sizes);
  Run run;
  for (const auto& [name, tensor] : model.features) {
    run.shapes["feature " + name] = tensor.sizes().vec();
    run.dtypes[name] = c10::toString(tensor.scalar_type());
  }
  for (const auto& [name, tensor] : model.parameters) {
    run.shapes["parameter " + name] = tensor.sizes().vec();
    run.parameter_order.push_back(name);
  }
  InstrumentedFeatures features(std::move(model.features));
  at::NoGradGuard no_grad;
  OperationRecorder recorder(model.parameters);
  model.run(features);
  run.readers = features.readers();
  run.facts = recorder.by_scope();
  run.scope_order = recorder.order();
  for (const auto& [path, facts] : run.facts) run.shapes["scope " + path] = facts.largest_tensor;
  return run;
}

void check_sizes(const std::map<std::string, MappedAxis>& axes) {
  std::map<std::int64_t, std::string> seen;
  for (const auto& [name, axis] : axes)
    for (auto size : {axis.base, axis.grown}) {
      auto [at, fresh] = seen.try_emplace(size, name);
      if (!fresh)
        throw ContractError("map: size " + std::to_string(size) + " is used for axis " + at->second + " and for " +
                            name + "; all base and grown sizes must differ, or equal sizes look like one axis");
    }
}

/// The power of an axis that a dimension is proportional to: 1 for N, 2 for flattened pairs; 0 if it is none up to 3.
int power_of(const MappedAxis& axis, std::int64_t base, std::int64_t now) {
  std::int64_t b = 1, g = 1;
  for (int power = 1; power <= 3; ++power) {
    b *= axis.base;
    g *= axis.grown;
    if (base * g == now * b) return power;
  }
  return 0;
}

/// How one dimension depends on the axes: "N", "2 N", "N + 3", "B N N" (flattened) or its number.
std::string dimension_text(std::int64_t base, const std::map<std::string, std::int64_t>& grown,
                           const std::map<std::string, MappedAxis>& axes) {
  std::string text;
  std::int64_t factor = base;
  const auto append = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
  for (const auto& [name, axis] : axes) {
    const std::int64_t now = grown.at(name);
    if (now == base) continue;
    if (const int power = power_of(axis, base, now)) {
      for (int i = 0; i < power; ++i) {
        append(name);
        factor /= axis.base;
      }
    } else {  // linear with an offset, the only other form that a size takes in practice
      const std::int64_t slope = (now - base) / (axis.grown - axis.base), offset = base - slope * axis.base;
      append((slope == 1 ? "" : std::to_string(slope) + " ") + name + (offset < 0 ? " - " : " + ") +
             std::to_string(std::abs(offset)));
      factor = 1;
    }
  }
  if (text.empty()) return std::to_string(base);
  return factor == 1 ? text : std::to_string(factor) + " " + text;
}

}  // namespace

ModelMap map_model(const ModelFactory& factory, const std::map<std::string, MappedAxis>& axes) {
  check_sizes(axes);
  AxisSizes sizes;
  for (const auto& [name, axis] : axes) sizes[name] = axis.base;
  const Run base = run_once(factory, sizes);
  std::map<std::string, Run> grown;
  for (const auto& [name, axis] : axes) {
    AxisSizes larger = sizes;
    larger[name] = axis.grown;
    grown[name] = run_once(factory, larger);
    if (grown[name].readers != base.readers || grown[name].scope_order != base.scope_order ||
        grown[name].parameter_order != base.parameter_order)
      throw ContractError("map: with axis " + name + " at " + std::to_string(axis.grown) +
                          " the model has other scopes, parameters or feature reads than at " +
                          std::to_string(axis.base));
  }

  auto axis_shape = [&](const std::string& key) {
    const Sizes& shape = base.shapes.at(key);
    AxisShape text;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::map<std::string, std::int64_t> at_grown;
      for (const auto& [name, run] : grown) {
        const Sizes& other = run.shapes.at(key);
        if (other.size() != shape.size()) return AxisShape{"another tensor at other sizes"};
        at_grown[name] = other[d];
      }
      text.push_back(dimension_text(shape[d], at_grown, axes));
    }
    return text;
  };

  ModelMap map;
  map.axes = axes;
  for (const auto& [name, dtype] : base.dtypes) {
    const auto readers = base.readers.find(name);
    map.features[name] = {axis_shape("feature " + name), dtype,
                          readers == base.readers.end() ? std::set<std::string>{} : readers->second};
  }
  for (const auto& name : base.parameter_order) {
    ParameterEntry entry{axis_shape("parameter " + name), {}};
    for (const auto& [path, facts] : base.facts)
      if (facts.parameters.contains(name)) entry.users.insert(path);
    map.parameters.emplace_back(name, std::move(entry));
  }
  std::vector<std::string> order = base.scope_order;
  for (const auto& [feature, readers] : base.readers)  // scopes that only read features ran no operation
    for (const auto& path : readers)
      if (std::find(order.begin(), order.end(), path) == order.end()) order.push_back(path);
  for (const auto& path : order) {
    const auto ran = base.facts.find(path);
    const ScopeFacts facts = ran == base.facts.end() ? ScopeFacts{} : ran->second;
    ScopeEntry entry{path, facts.operations, facts.parameters, {}, {}};
    if (ran != base.facts.end()) entry.largest_tensor = axis_shape("scope " + path);
    for (const auto& [feature, readers] : base.readers)
      if (readers.contains(path)) entry.features.insert(feature);
    map.scopes.push_back(std::move(entry));
  }
  return map;
}

}  // namespace cpize::map
